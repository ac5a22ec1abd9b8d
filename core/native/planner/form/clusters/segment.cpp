// The operator of some turns and joint phases on few wires.

#include "planner/form/clusters/segment.hpp"

#include <algorithm>
#include <cmath>

#include "planner/form/gates/rounding.hpp"

namespace qx::form {

namespace {

constexpr double nothing = 1e-28;         // the square of what is but rounding
constexpr double one_more = 1e-18;        // the square of the part of an operator that is not in a span yet

bool none(Complex of) { return std::norm(of) < nothing; }

using Vector2 = std::array<Complex, 2>;

Vector2 unit_vector(Vector2 of) {
    const double length = std::sqrt(std::norm(of[0]) + std::norm(of[1]));
    const Complex first = std::norm(of[0]) > 1e-20 ? of[0] : of[1];
    const Complex by = std::conj(first) / (size_of(first) * length);
    return {of[0] * by, of[1] * by};
}

// Returns a and b with |a><b| a multiple of a matrix whose determinant is 0.
std::array<Vector2, 2> factors(const Matrix2& of) {
    const std::size_t row = std::norm(of[0]) + std::norm(of[1]) >= std::norm(of[2]) + std::norm(of[3]) ? 0 : 1;
    const std::size_t column = std::norm(of[0]) + std::norm(of[2]) >= std::norm(of[1]) + std::norm(of[3]) ? 0 : 1;
    return {unit_vector({of[column], of[2 + column]}), unit_vector({std::conj(of[2 * row]), std::conj(of[2 * row + 1])})};
}

Vector2 other(const Vector2& of) { return unit_vector({-std::conj(of[1]), std::conj(of[0])}); }

// The square of the most that an entry is off the identity's.
double off_identity(const Matrix2& of) {
    double off = 0;
    for (std::size_t k = 0; k < 4; ++k) off = std::max(off, std::norm(of[k] - identity2[k]));
    return off;
}

}  // namespace

bool is_identity(const Matrix2& of) { return off_identity(of) < 1e-24; }
bool is_nothing(const Matrix2& of) { return off_identity(of) < Rounding::of_one * Rounding::of_one; }

Matrix2 split_phases(Matrix2& turn) {
    Matrix2 phases = identity2;
    for (const std::size_t row : {0, 2}) {
        const Complex first = std::norm(turn[row]) > 1e-20 ? turn[row] : turn[row + 1], by = first / size_of(first);
        phases[row ? 3 : 0] = by;
        turn[row] = times(turn[row], std::conj(by)), turn[row + 1] = times(turn[row + 1], std::conj(by));
    }
    return phases;
}

// Takes what is in the span off an operator; what is left is in it, too, if there is room. Nothing is left at pivots.
bool Segment::Span::add(const Matrix2& one) {
    std::size_t pivot = 0;
    double most = 0;
    Matrix2 left{};
    for (std::size_t j = 0; j < 4; ++j) {
        if ((size > 0 && j == pivots[0]) || (size > 1 && j == pivots[1])) continue;
        left[j] = one[j];
        for (std::size_t k = 0; k < static_cast<std::size_t>(size); ++k) left[j] -= times(one[pivots[k]], of[k][j]);
        if (const double own = std::norm(left[j]); own > most) pivot = j, most = own;
    }
    if (most < one_more) return true;
    if (size == 2) return false;
    const Complex by = std::conj(left[pivot]) / most;
    for (Complex& entry : left) entry = times(entry, by);
    of[static_cast<std::size_t>(size)] = left, pivots[static_cast<std::size_t>(size)] = pivot;
    if (size++ == 0) return true;
    const Complex part = of[0][pivot];
    for (std::size_t j = 0; j < 4; ++j) of[0][j] -= times(part, left[j]);
    return true;
}

Segment::Segment() : columns_(1) { columns_[0].set(0, 1); }

// Returns the rows in which a wire is 0, for those in which it has any value.
Segment::Rows Segment::folded(const Rows& of, int wire) {
    constexpr std::array<Mask, 6> zero{0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f,
                                       0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff};
    Rows out;
    out.words = of.words;
    for (std::size_t word = 0; word < of.words; ++word) {
        const std::size_t apart = wire < 6 ? 0 : std::size_t{1} << (wire - 6);
        if (word & apart) continue;
        out.of[word] = apart ? of[word] | of[word | apart]
                             : (of[word] | of[word] >> (1 << wire)) & zero[static_cast<std::size_t>(wire)];
    }
    return out;
}

// Returns the rows of two columns.
Segment::Rows Segment::of_both(const Column& one, const Column& other) {
    Rows out;
    out.words = std::max(one.filled.words, other.filled.words);
    for (std::size_t word = 0; word < out.words; ++word) out.of[word] = one.filled[word] | other.filled[word];
    return out;
}

void Segment::Column::set(std::size_t row, Complex value) {
    const Mask bit = unit(static_cast<int>(row % 64));
    if (none(value)) {
        filled.of[row / 64] &= ~bit;
        return;
    }
    filled.of[row / 64] |= bit, filled.words = std::max(filled.words, row / 64 + 1);
    entries[row] = {value.real(), value.imag()};
}

// Lets a matrix act on a wire, row by row of those in which it is 0.
void Segment::Column::mix(int wire, const Matrix2& by) {
    const std::size_t bit = std::size_t{1} << wire, apart = bit / 64;  // of words
    const Rows rows = folded(filled, wire);
    for (std::size_t word = 0; word < rows.words; ++word) {
        if (word & apart) continue;
        const Mask zeros = filled[word], ones = apart ? filled[word | apart] : zeros >> bit;
        std::array<Mask, 2> now{};
        each(rows[word], [&](int at) {
            const std::size_t row = 64 * word + static_cast<std::size_t>(at);
            const Complex zero = zeros >> at & 1 ? own(row) : 0, set = ones >> at & 1 ? own(row | bit) : 0;
            const Complex first = times(by[0], zero) + times(by[1], set), second = times(by[2], zero) + times(by[3], set);
            entries[row] = {first.real(), first.imag()}, entries[row | bit] = {second.real(), second.imag()};
            now[0] |= Mask{!none(first)} << at, now[1] |= Mask{!none(second)} << at;
        });
        filled.of[word] = apart ? now[0] : now[0] | now[1] << bit;
        if (!apart) continue;
        filled.of[word | apart] = now[1];
        if (now[1]) filled.words = std::max(filled.words, (word | apart) + 1);
    }
}

void Segment::count_entries() {
    size_ = 0;
    for (const Column& one : columns_)
        for (std::size_t word = 0; word < one.filled.words; ++word)
            size_ += static_cast<std::size_t>(count(one.filled[word]));
}

void Segment::add_wire(bool is_zero) {
    const std::size_t bit = std::size_t{1} << wires_, number = columns_.size();
    bit_[static_cast<std::size_t>(wires_++)] = is_zero ? -1 : lowest(static_cast<Mask>(number));
    if (is_zero) return;
    columns_.reserve(2 * number);
    for (std::size_t k = 0; k < number; ++k) {
        Column& one = columns_.emplace_back();
        each_row(columns_[k].filled, [&](std::size_t row) { one.set(row | bit, columns_[k].own(row)); });
    }
    size_ *= 2;
}

void Segment::turn(int wire, const Matrix2& by) {
    if (is_nothing(by)) return;
    const std::size_t bit = std::size_t{1} << wire;
    const bool keeps = none(by[1]) && none(by[2]);
    for (Column& one : columns_) {
        if (keeps) {
            each_row(one.filled, [&](std::size_t row) { one.multiply(row, row & bit ? by[3] : by[0]); });
            continue;
        }
        one.mix(wire, by);
    }
    if (keeps) return;
    count_entries();
}

// Lets a turn act before all so far.
void Segment::turn_before(int wire, const Matrix2& by) {
    const std::size_t bit = std::size_t{1} << bit_[static_cast<std::size_t>(wire)];
    for (std::size_t k = 0; k < columns_.size(); ++k) {
        if (k & bit) continue;
        Column &a = columns_[k], &b = columns_[k | bit];
        each_row(of_both(a, b), [&](std::size_t row) {
            const Complex zero = a.at(row), set = b.at(row);
            a.set(row, times(zero, by[0]) + times(set, by[2]));
            b.set(row, times(zero, by[1]) + times(set, by[3]));
        });
    }
    count_entries();
}

void Segment::parity(Mask wires, double angle) {
    const Complex even = std::polar(1.0, -angle / 2), odd = std::conj(even);
    for (Column& one : columns_)
        each_row(one.filled, [&](std::size_t row) { one.multiply(row, is_odd(row & wires) ? odd : even); });
}

void Segment::phase(Mask wires, Mask values, double angle) {
    const Complex by = std::polar(1.0, angle);
    for (Column& one : columns_)
        each_row(one.filled, [&](std::size_t row) {
            if ((row & wires) == values) one.multiply(row, by);
        });
}

bool Segment::span(int wire, Span& out) const {
    const std::size_t bit = std::size_t{1} << wire;
    const int own = bit_[static_cast<std::size_t>(wire)];
    for (std::size_t k = 0; k < columns_.size(); ++k) {
        if (own >= 0 && k >> own & 1) continue;
        const Column &zero = columns_[k], &one = columns_[own < 0 ? k : k | std::size_t{1} << own];
        const Rows rows = folded(of_both(zero, one), wire);
        for (std::size_t word = 0; word < rows.words; ++word)
            for (Mask left = rows[word]; left; left &= left - 1) {
                const std::size_t row = 64 * word + static_cast<std::size_t>(lowest(left));
                const Complex a = own < 0 ? 0 : one.at(row), b = own < 0 ? 0 : one.at(row | bit);
                if (!out.add({zero.at(row), a, zero.at(row | bit), b})) return false;
            }
    }
    return true;
}

int Segment::rank(int wire) const {
    Span found;
    return span(wire, found) ? found.size : 3;
}

bool Segment::reads(int wire, Matrix2& before, Matrix2& behind) const {
    Span found;
    if (!span(wire, found) || !found.size) return false;
    const Matrix2 &a = found.of[0], &b = found.of[1];
    if (found.size == 1) {
        before = identity2, behind = a;
        const double length = std::sqrt(std::norm(a[0]) + std::norm(a[2]));
        for (Complex& entry : behind) entry /= length;
        return true;
    }
    // The two multiples x a + y b of determinant 0.
    const Complex p = a[0] * a[3] - a[1] * a[2], r = b[0] * b[3] - b[1] * b[2];
    const Complex q = a[0] * b[3] + a[3] * b[0] - a[1] * b[2] - a[2] * b[1], root = std::sqrt(q * q - 4.0 * p * r);
    const Complex sum = std::norm(q + root) >= std::norm(q - root) ? q + root : q - root;
    Complex x = -sum, y = 2.0 * p;  // p x² + q x y + r y² = 0
    if (std::norm(x) + std::norm(y) < 1e-20) x = 1, y = 0;
    Matrix2 first;
    for (std::size_t k = 0; k < 4; ++k) first[k] = x * a[k] + y * b[k];
    auto [left, right] = factors(first);
    if (std::norm(right[0]) < std::norm(right[1])) right = other(right), left = other(left);
    const Vector2 left1 = other(left), right1 = other(right);
    behind = {left[0], left1[0], left[1], left1[1]};
    before = {std::conj(right[0]), std::conj(right[1]), std::conj(right1[0]), std::conj(right1[1])};
    return true;
}

Segment Segment::between(const std::vector<Matrix2>& before, const std::vector<Matrix2>& behind) const {
    Segment left = *this;
    for (int wire = 0; wire < wires_; ++wire) left.turn(wire, adjoint(behind[static_cast<std::size_t>(wire)]));
    for (int wire = 0; wire < wires_; ++wire) left.turn_before(wire, adjoint(before[static_cast<std::size_t>(wire)]));
    return left;
}

bool Segment::diagonal(double tolerance, LocalDiagonal& out) const {
    const auto number = static_cast<std::size_t>(wires_);
    out = {std::vector<Matrix2>(number), std::vector<Matrix2>(number), {}};
    for (std::size_t wire = 0; wire < number; ++wire)
        if (!reads(static_cast<int>(wire), out.before[wire], out.behind[wire])) return false;
    const Segment left = between(out.before, out.behind);
    bool is_diagonal = true;
    for (std::size_t k = 0; k < left.columns_.size(); ++k) {
        const Column& column = left.columns_[k];
        each_row(column.filled, [&](std::size_t row) {
            is_diagonal = is_diagonal && (row == k || std::norm(column.own(row)) <= tolerance * tolerance);
        });
        is_diagonal = is_diagonal && std::fabs(size_of(column.at(k)) - 1) <= tolerance;
        out.phases.push_back(std::arg(column.at(k)));
    }
    return is_diagonal;
}

std::vector<Complex> Segment::dense() const {
    std::vector<Complex> out;
    for (std::size_t row = 0; row < columns_.size(); ++row)
        for (const Column& column : columns_) out.push_back(column.at(row));
    return out;
}

}  // namespace qx::form
