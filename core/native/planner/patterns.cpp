// Properties of matrices that follow from the classes of their entries alone.

#include "planner/patterns.hpp"

#include <algorithm>
#include <bit>

#include "planner/sets.hpp"

namespace qx::plan {

namespace {

// Multiply-adds (or adds) per amplitude for one entry, as part of a row with other entries.
constexpr long work_of[] = {0, 2, 2, 2, 2, 4};

long work(Interned::Bytes entries) {
    long sum = 0;
    for (char entry : entries) sum += work_of[static_cast<int>(entry)];
    return sum;
}

// The narrowest class that holds entries of two.
char joined(char a, char b) {
    const bool imaginary = a == imag || b == imag, other = a != b && a != zero && b != zero;
    if (a == b) return a;
    if (a == complex_ || b == complex_ || (imaginary && other)) return complex_;
    return imaginary ? imag : real;
}

bool is_identity(Interned::Bytes matrix, std::size_t size) {
    for (std::size_t k = 0; k < matrix.size(); ++k)
        if (matrix[k] != (k % (size + 1) ? zero : one)) return false;
    return true;
}

// Returns the multiply-adds of all rows where `looked_up` says which matrix acts.
long work_of_chosen(Interned::Bytes of, int size, Index looked_up) {
    const std::size_t rows = static_cast<std::size_t>(size), area = rows * rows;
    auto matrix = [&](Index number) { return of.substr(number * area, area); };
    long total = 0;
    for (Index first = 0; first < of.size() / area; ++first) {
        if (first & looked_up) continue;
        std::vector<char> every;
        for (Index others = looked_up;; others = (others - 1) & looked_up) {
            const Interned::Bytes one_of_them = matrix(first | others);
            if (every.empty() && !is_identity(one_of_them, rows)) every.assign(one_of_them.begin(), one_of_them.end());
            else if (!is_identity(one_of_them, rows))
                for (std::size_t k = 0; k < area; ++k) every[k] = joined(every[k], one_of_them[k]);
            if (!others) break;
        }
        for (std::size_t row = 0; row < every.size(); row += rows)
            total += row_work({every.data() + row, rows}) << std::popcount(looked_up);
    }
    return total;
}

constexpr int most_size_bits = 8;  // of the sizes of matrices in `key`

std::uint64_t key(Index pattern, int size) {
    return static_cast<std::uint64_t>(pattern) << 32 | static_cast<unsigned>(size);
}

bool relabels(Interned::Bytes of, int size, Relabeling& out) {
    std::size_t area = static_cast<std::size_t>(size) * size;
    out.column.assign(size, 0);
    std::vector<int> in_column(size, 0);
    for (int row = 0; row < size; ++row) {
        int used = 0;
        for (int column = 0; column < size; ++column)
            if (of[static_cast<std::size_t>(row) * size + column] != zero) {
                ++used, ++in_column[column];
                out.column[row] = static_cast<Index>(column);
            }
        if (used != 1) return false;
    }
    for (int used : in_column)
        if (used != 1) return false;
    out.trivial = true;
    for (std::size_t at = 0; at < of.size(); ++at) {
        if ((of[at] != zero) != (of[at % area] != zero)) return false;
        out.trivial = out.trivial && (of[at] == zero || of[at] == one);
    }
    return true;
}

}  // namespace

long row_work(Interned::Bytes row) {
    const std::size_t first = row.find_first_not_of(zero);
    if (first == Interned::Bytes::npos) return 0;
    const bool moves = row[first] == one || row[first] == minus_one;
    return moves && row.find_first_not_of(zero, first + 1) == Interned::Bytes::npos ? 0 : work(row);
}

char times(char a, char b) {
    if (a == zero || b == zero) return zero;
    if (a == one) return b;
    if (b == one) return a;
    if (a == complex_ || b == complex_) return complex_;
    if (a == minus_one && b == minus_one) return one;
    return (a == imag) != (b == imag) ? imag : real;
}

char plus(char a, char b) {
    if (a == zero) return b;
    if (b == zero) return a;
    if (a == complex_ || b == complex_ || (a == imag) != (b == imag)) return complex_;
    return a == imag ? imag : real;
}

Index Patterns::product(Index left, Index right, int size) {
    Index& known = products_[static_cast<std::uint64_t>(left) << 32 | right];
    if (known != Memo::none) return known;
    std::vector<char> out(static_cast<std::size_t>(size) * size);
    Interned::Bytes a = known_[left], b = known_[right];
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) {
            char total = zero;
            for (int k = 0; k < size; ++k) total = plus(total, times(a[i * size + k], b[k * size + j]));
            out[i * size + j] = total;
        }
    return known = known_.of({out.data(), out.size()});
}

Index Patterns::plain(Index pattern) {
    Index& known = plain_[pattern];
    if (known != Memo::none) return known;
    constexpr char class_of[] = {zero, one,  minus_one, real, imag,     complex_, imag,     imag,
                                 real, real, imag,      imag, complex_, complex_, complex_, complex_};
    Interned::Bytes of = known_[pattern];
    std::vector<char> out;
    for (char entry : of) out.push_back(class_of[static_cast<int>(entry)]);
    return known = known_.of({out.data(), out.size()});
}

Index Patterns::without_eighths(Index pattern) {
    Index& known = without_eighths_[pattern];
    if (known != Memo::none) return known;
    std::vector<char> out;
    for (char entry : known_[pattern]) out.push_back(entry >= eighth ? static_cast<char>(complex_) : entry);
    return known = known_.of({out.data(), out.size()});
}

double Patterns::mix_work(Index pattern, int size, bool in_vectors, Index looked_up) {
    Index& known = (in_vectors ? vector_works_ : works_)[key(pattern, size | static_cast<int>(looked_up) << most_size_bits)];
    if (known == Memo::none) {
        const Interned::Bytes of = known_[pattern];
        const long total = looked_up ? work_of_chosen(of, size, looked_up) : work_of_rows(of, size, in_vectors);
        known = static_cast<Index>(work_.size());
        work_.push_back(static_cast<double>(total * size) / static_cast<double>(of.size()));
    }
    return work_[known];
}

double Patterns::diagonal_work(Index pattern, Index looked_up) {
    Index& known = works_[key(pattern, -static_cast<int>(looked_up))];
    if (known == Memo::none) {
        Interned::Bytes of = known_[pattern];
        long total = 0;
        for (Index first = 0; first < of.size(); ++first) {
            if (first & looked_up) continue;
            bool some = false, turns = false;
            Index others = looked_up;
            do {
                const char entry = of[first | others];
                some = some || entry != one, turns = turns || entry > real;
                others = (others - 1) & looked_up;
            } while (others != looked_up);
            const long each = looked_up ? work_of[turns ? complex_ : real] : work_of[static_cast<int>(of[first])];
            total += some ? each << std::popcount(looked_up) : 0;
        }
        known = static_cast<Index>(work_.size());
        work_.push_back(static_cast<double>(total) / static_cast<double>(of.size()));
    }
    return work_[known];
}

const std::vector<Index>& Patterns::permutation(Index pattern, int size) {
    Index& known = permutations_[key(pattern, size)];
    if (known == Memo::none) {
        Interned::Bytes of = known_[pattern];
        std::vector<Index> to;
        bool trivial = of.size() == static_cast<std::size_t>(size) * size;
        for (char entry : of) trivial = trivial && (entry == zero || entry == one);
        if (trivial) {
            constexpr Index nowhere = ~Index{0};
            to.assign(static_cast<std::size_t>(size), nowhere);
            std::vector<int> arrive(static_cast<std::size_t>(size), 0);
            for (int row = 0; row < size; ++row)
                for (int column = 0; column < size; ++column)
                    if (of[row * size + column] == one) to[column] = static_cast<Index>(row), ++arrive[row];
            // Of a projection one value is lost, or two meet: where each value arrives somewhere, and one at each place,
            // there are as many ones as values.
            bool each_moves = std::count(to.begin(), to.end(), nowhere) == 0;
            if (!each_moves || std::count(arrive.begin(), arrive.end(), 1) != size) to.clear();
        }
        known = static_cast<Index>(permutation_.size());
        permutation_.push_back(to);
    }
    return permutation_[known];
}

const Relabeling& Patterns::relabeling(Index pattern, int size) {
    Index& known = relabelings_[key(pattern, size)];
    if (known == Memo::none) {
        Relabeling out;
        if (relabels(known_[pattern], size, out)) {
            std::vector<Index> to(size);
            for (int row = 0; row < size; ++row) to[out.column[row]] = static_cast<Index>(row);
            Relabeling moved = affine(to.data(), to.size());
            out.found = moved.found, out.flip = moved.flip, out.source = moved.source;
        }
        known = static_cast<Index>(relabeling_.size());
        relabeling_.push_back(out);
    }
    return relabeling_[known];
}

Relabeling affine(const Index* to, std::size_t size) {
    Relabeling out;
    int bits = 0;
    while (std::size_t{1} << bits < size) ++bits;
    out.flip = to[0];
    out.source.assign(bits, 0);
    std::vector<int> image(bits);
    for (int k = 0; k < bits; ++k) {
        Mask found = to[std::size_t{1} << k] ^ out.flip;
        if (count(found) != 1) return out;
        image[k] = lowest(found);
        if (image[k] >= bits) return out;
        out.source[image[k]] = k;
    }
    for (std::size_t x = 0; x < size; ++x) {
        Mask found = 0;
        for (int j = 0; j < bits; ++j) found |= (x >> out.source[j] & 1) << j;
        if ((to[x] ^ out.flip) != found) return out;
    }
    out.found = true;
    return out;
}

}  // namespace qx::plan
