// What cancels in a product: its entries at trial numbers.

#include "planner/rewrite/trial.hpp"

#include <algorithm>
#include <cmath>

namespace qx::plan {

namespace {

using Number = Trial::Number;

constexpr double near = 1e-9;  // a sum that is so small beside its terms is 0

// A number between 1/2 and 3/2 or its negative: SplitMix64 (Steele, Lea, Flood, 2014) of a key.
double number(std::uint64_t key) {
    std::uint64_t z = (key + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    double size = 0.5 + static_cast<double>(z >> 11) * 0x1p-53;
    return z & 1 ? size : -size;
}

Number number_of(char kind, std::uint64_t key) {
    const double root = std::sqrt(0.5);
    switch (kind) {
        case zero: return 0;
        case one: return 1;
        case minus_one: return -1;
        case unit_imag: return {0, 1};
        case minus_unit_imag: return {0, -1};
        case root_half: return root;
        case minus_root_half: return -root;
        case imag_root_half: return {0, root};
        case minus_imag_root_half: return {0, -root};
        default: break;
    }
    const double drawn = number(key), square = drawn * drawn;
    return {(1 - square) / (1 + square),
            2 * drawn / (1 + square)};  // of modulus 1, so that products of phases stay as large
}

double size_of(Number number) { return std::abs(number.real()) + std::abs(number.imag()); }

}  // namespace

void Trial::set(int at, char kind, Index place) {
    for (int draw = 0; draw < draws; ++draw)
        entry[draw][at] = number_of(kind, std::uint64_t{place} * draws + static_cast<std::uint64_t>(draw));
}

void Trial::multiply(const Trial& left, int size) {
    double made[draws][most_entries][2] = {}, terms[draws][most_entries] = {};
    for (int draw = 0; draw < draws; ++draw)
        for (int row = 0; row < size; ++row)
            for (int k = 0; k < size; ++k) {
                const Number by = left.entry[draw][row * size + k];
                if (by == 0.0) continue;  // as half of the entries of a matrix on one of two bits
                const double re = by.real(), im = by.imag(), weight = size_of(by);
                for (int column = 0; column < size; ++column) {
                    const Number with = entry[draw][k * size + column];
                    double* sum = made[draw][row * size + column];
                    sum[0] += re * with.real() - im * with.imag();
                    sum[1] += re * with.imag() + im * with.real();
                    terms[draw][row * size + column] += weight * size_of(with);
                }
            }
    double largest[draws] = {};
    for (int k = 0; k < size * size; ++k) {
        bool gone = true;
        for (int draw = 0; draw < draws; ++draw) {
            entry[draw][k] = {made[draw][k][0], made[draw][k][1]};
            gone = gone && size_of(entry[draw][k]) < near * terms[draw][k];
        }
        for (int draw = 0; draw < draws; ++draw) {
            if (gone) entry[draw][k] = 0;
            largest[draw] = std::max(largest[draw], size_of(entry[draw][k]));
        }
    }
    for (int draw = 0; draw < draws; ++draw)
        for (int k = 0; k < size * size; ++k) entry[draw][k] /= largest[draw];
}

bool Trial::same(Number one, Number other) { return size_of(one - other) <= near * (size_of(one) + size_of(other)); }

Index Trial::without_zeros(Index pattern, int entries, Patterns& patterns) const {
    char classes[most_entries];
    bool changed = false;
    Interned::Bytes of = patterns[pattern];
    for (int k = 0; k < entries; ++k) {
        bool gone = true;
        for (int draw = 0; draw < draws; ++draw) gone = gone && entry[draw][k] == 0.0;
        classes[k] = gone ? static_cast<char>(zero) : of[static_cast<std::size_t>(k)];
        changed = changed || classes[k] != of[static_cast<std::size_t>(k)];
    }
    return changed ? patterns.of({classes, static_cast<std::size_t>(entries)}) : pattern;
}

Index Trials::put(const Trial& trial, int entries) {
    std::vector<Index>& free = free_[entries > 4];
    if (free.empty()) {
        free.push_back(static_cast<Index>(numbers_.size()));
        numbers_.resize(numbers_.size() + static_cast<std::size_t>(Trial::draws * entries));
    }
    Index at = free.back();
    free.pop_back();
    for (int draw = 0; draw < Trial::draws; ++draw)
        std::copy(trial.entry[draw], trial.entry[draw] + entries, numbers_.begin() + at + draw * entries);
    return at;
}

bool cancels(const Piece& piece, const PlanContext& context) {
    if (piece.trial != Piece::none) return true;
    if (piece.known == Piece::none) return false;
    Interned::Bytes of = context.patterns[piece.known];
    return std::any_of(of.begin(), of.end(), [](char entry) { return entry >= root_half; });
}

}  // namespace qx::plan
