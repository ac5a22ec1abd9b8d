// The operator of some turns and joint phases on few wires, and whether it is diagonal but for turns before and behind it.
//
// In between, gates of a transpiler mix all wires; a Toffoli, or Z under many controls, is diagonal again at its end. How
// many operators of a wire a matrix has does not depend on turns (Schmidt's rank): with two of them, which is what a
// controlled gate has, they are projectors between turns, so nothing has to be known of how a gate was taken apart.
#pragma once

#include <array>
#include <vector>

#include "planner/form/complex.hpp"
#include "planner/form/pauli.hpp"

namespace qx::form {

using Matrix2 = std::array<Complex, 4>;  // of one wire, row by row

constexpr Matrix2 identity2{1, 0, 0, 1};

inline Matrix2 operator*(const Matrix2& a, const Matrix2& b) {
    Matrix2 out;
    for (std::size_t k = 0; k < 4; ++k) out[k] = times(a[k & 2], b[k & 1]) + times(a[k | 1], b[2 | (k & 1)]);
    return out;
}
inline Matrix2 adjoint(const Matrix2& a) { return {std::conj(a[0]), std::conj(a[2]), std::conj(a[1]), std::conj(a[3])}; }

// Tells whether a turn is the identity, but for rounding; and whether it is so little that each of many may be left out, as
// much as one gate is rounded by.
bool is_identity(const Matrix2& of);
bool is_nothing(const Matrix2& of);
// Makes a turn one whose rows begin with positive numbers, and returns the phases behind it.
Matrix2 split_phases(Matrix2& turn);

// The product of `behind`, phases of each index, and `before`, the turns of each wire.
struct LocalDiagonal {
    std::vector<Matrix2> before, behind;
    std::vector<double> phases;
};

class Segment {
  public:
    static constexpr int most_wires = 9;

    Segment();
    int wires() const { return wires_; }
    std::size_t size() const { return size_; }  // entries that are not 0
    std::size_t num_columns() const { return columns_.size(); }
    // Adds a wire; or one that is always 0 at first, which is less work, and what is read or diagonal then may not be so.
    void add_wire(bool is_zero = false);
    void turn(int wire, const Matrix2& by);
    // exp(-i angle/2 Z…Z) of some wires, or e^{i angle} where they have the values of a mask.
    void parity(Mask wires, double angle);
    void phase(Mask wires, Mask values, double angle);

    // Returns how many operators of a wire make up the matrix, and 3 for more than two. A wire with one is a factor.
    int rank(int wire) const;
    // Writes the turns of a wire between which it is only read, if it is; returns whether. No wire may be 0 at first.
    bool reads(int wire, Matrix2& before, Matrix2& behind) const;
    // Returns what is left between turns of all wires.
    Segment between(const std::vector<Matrix2>& before, const std::vector<Matrix2>& behind) const;
    // Returns whether it is diagonal but for turns, which are written. No wire may be 0 at first.
    bool diagonal(double tolerance, LocalDiagonal& out) const;
    std::vector<Complex> dense() const;  // [2^wires, 2^wires]

  private:
    static constexpr std::size_t most_rows = std::size_t{1} << most_wires, most_words = most_rows / 64;
    // Some rows, of which none are behind so many words.
    struct Rows {
        std::array<Mask, most_words> of{};
        std::size_t words = 1;
        Mask operator[](std::size_t word) const { return of[word]; }
    };
    template <class Each>
    static void each_row(const Rows& of, const Each& function) {
        for (std::size_t word = 0; word < of.words; ++word)
            each(of[word], [&](int row) { function(64 * word + static_cast<std::size_t>(row)); });
    }
    struct Column {
        Rows filled{};
        std::array<std::array<double, 2>, most_rows> entries;  // those that are filled, and no others have any value
        Column() {}
        Column(const Column& other) : filled(other.filled) {
            each_row(filled, [&](std::size_t row) { entries[row] = other.entries[row]; });
        }
        Column& operator=(const Column& other) = default;
        ~Column() = default;
        Complex own(std::size_t row) const { return {entries[row][0], entries[row][1]}; }
        Complex at(std::size_t row) const { return filled[row / 64] >> row % 64 & 1 ? own(row) : 0; }
        void multiply(std::size_t row, Complex by) {
            const Complex value = times(by, own(row));
            entries[row] = {value.real(), value.imag()};
        }
        void set(std::size_t row, Complex value);
        void mix(int wire, const Matrix2& by);
    };
    // Up to two operators of a wire, each 1 at its pivot, where the other one is 0.
    struct Span {
        std::array<Matrix2, 2> of{};
        std::array<std::size_t, 2> pivots{};
        int size = 0;
        bool add(const Matrix2& one);
    };

    static Rows folded(const Rows& of, int wire);
    static Rows of_both(const Column& one, const Column& other);
    bool span(int wire, Span& out) const;
    void turn_before(int wire, const Matrix2& by);
    void count_entries();

    int wires_ = 0;
    std::size_t size_ = 1;
    std::array<int, most_wires> bit_{};  // of the number of a column, for each wire; negative if that is 0 at first
    std::vector<Column> columns_;
};

}  // namespace qx::form
