// Between which turns of its wires a matrix has zeros: those of what it conserves.

#include "planner/form/clusters/blocks/conserved.hpp"

#include <algorithm>
#include <cmath>

namespace qx::form {

namespace {

constexpr int squarings = 26;  // by which what is shortened at all, but for rounding, is gone
constexpr double some = 1e-6, gone = 1e-9, rounding = 1e-12;
// Of the operators of wires in the sum of which what is conserved is taken, so that nothing cancels.
constexpr std::array<double, 4> weights{1, 1.37, 0.71, 1.93};

using Vector = std::vector<double>;  // for each wire X, Y and Z

class Conserved {
  public:
    Conserved(const std::vector<Complex>& matrix, int wires)
        : matrix_(matrix), size_(std::size_t{1} << wires), all_(3 * static_cast<std::size_t>(wires)), map_(all_ * all_) {
        for (std::size_t from = 0; from < all_; ++from) fill(from);
        kept_ = Vector(all_ * all_);
        for (std::size_t i = 0; i < all_; ++i)
            for (std::size_t j = 0; j < all_; ++j)
                for (std::size_t k = 0; k < all_; ++k) kept_[all_ * i + j] += map_[all_ * k + i] * map_[all_ * k + j];
        const auto is_gone = [](double one) { return std::fabs(one) < gone; };
        for (int k = 0; k < squarings && !std::all_of(kept_.begin(), kept_.end(), is_gone); ++k)
            kept_ = product(kept_, kept_);
        const Vector twice = product(kept_, kept_), thrice = product(twice, kept_);  // lengths become 0 or 1 exactly
        for (std::size_t k = 0; k < kept_.size(); ++k) kept_[k] = 3 * twice[k] - 2 * thrice[k];
    }

    // Returns a sum that is conserved: that about Z if there is one, on each wire, else about another axis.
    Vector sum() const {
        Vector out(all_);
        for (const std::size_t axis : {2, 0, 1}) {
            Vector own(all_);
            for (std::size_t i = 0; i < all_; ++i)
                for (std::size_t wire = 0; 3 * wire < all_; ++wire)
                    own[i] += kept_[all_ * i + 3 * wire + axis] * weights[wire];
            for (std::size_t wire = 0; 3 * wire < all_; ++wire)
                if (length(out, wire) < some)
                    for (std::size_t k = 3 * wire; k < 3 * wire + 3; ++k) out[k] = own[k];
        }
        return out;
    }
    // What a sum is behind the matrix.
    Vector behind(const Vector& before) const {
        Vector out(all_);
        for (std::size_t i = 0; i < all_; ++i)
            for (std::size_t k = 0; k < all_; ++k) out[i] += map_[all_ * i + k] * before[k];
        return out;
    }
    static double length(const Vector& of, std::size_t wire) {
        return std::hypot(of[3 * wire], of[3 * wire + 1], of[3 * wire + 2]);
    }

  private:
    // An operator of a wire takes an index to that without its bit, times a number.
    static Complex entry(std::size_t axis, bool set) {
        return axis == 0 ? Complex(1) : axis == 1 ? Complex(0, set ? 1 : -1) : Complex(set ? -1 : 1);
    }
    static std::size_t moved(std::size_t index, std::size_t operator_) {
        return operator_ % 3 == 2 ? index : index ^ std::size_t{1} << operator_ / 3;
    }
    static bool is_set(std::size_t index, std::size_t operator_) { return index >> operator_ / 3 & 1; }

    // Writes what an operator of a wire is behind the matrix, in those of all wires.
    void fill(std::size_t from) {
        std::vector<Complex> image(size_ * size_);  // the matrix behind the operator
        for (std::size_t row = 0; row < size_; ++row)
            for (std::size_t column = 0; column < size_; ++column) {
                const std::size_t at = moved(column, from);
                image[size_ * row + column] = times(matrix_[size_ * row + at], entry(from % 3, is_set(at, from)));
            }
        for (std::size_t row = 0; row < size_; ++row) {
            const auto with = [&](std::size_t other) {
                Complex sum = 0;
                for (std::size_t k = 0; k < size_; ++k)
                    sum += times(image[size_ * row + k], std::conj(matrix_[size_ * other + k]));
                return sum / static_cast<double>(size_);
            };
            const Complex same = with(row);
            for (std::size_t to = 0; to < all_; to += 3) {
                const std::size_t other = moved(row, to);
                const Complex mixed = with(other);
                map_[all_ * to + from] += mixed.real();
                map_[all_ * (to + 1) + from] += times(entry(1, is_set(other, to)), mixed).real();
                map_[all_ * (to + 2) + from] += times(entry(2, is_set(row, to)), same).real();
            }
        }
    }
    Vector product(const Vector& a, const Vector& b) const {
        Vector out(all_ * all_);
        for (std::size_t i = 0; i < all_; ++i)
            for (std::size_t k = 0; k < all_; ++k)
                for (std::size_t j = 0; j < all_; ++j) out[all_ * i + j] += a[all_ * i + k] * b[all_ * k + j];
        return out;
    }

    const std::vector<Complex>& matrix_;
    std::size_t size_, all_;
    Vector map_, kept_;  // kept: what projects on what the map keeps the length of
};

// What turns the axis of a wire, or the opposite one, into Z.
Matrix2 turn_to_z(const Vector& of, std::size_t wire) {
    const double length = Conserved::length(of, wire);
    if (length < some) return identity2;
    const double by = of[3 * wire + 2] < 0 ? -1 / length : 1 / length;
    const Complex side = by * Complex(of[3 * wire], of[3 * wire + 1]);
    if (size_of(side) < rounding) return identity2;
    const double half = std::atan2(size_of(side), by * of[3 * wire + 2]) / 2;
    const Complex to = std::sin(half) * side / size_of(side);
    return {std::cos(half), std::conj(to), -to, std::cos(half)};
}

}  // namespace

Turns take_turns(std::vector<Complex>& matrix, int wires) {
    const Conserved found(matrix, wires);
    const Vector before = found.sum(), behind = found.behind(before);
    Turns out;
    const std::size_t size = std::size_t{1} << wires;
    for (std::size_t wire = 0; wire < static_cast<std::size_t>(wires); ++wire) {
        out.before.push_back(turn_to_z(before, wire));
        out.behind.push_back(adjoint(turn_to_z(behind, wire)));
        const std::size_t bit = std::size_t{1} << wire;
        const Matrix2 right = adjoint(out.before.back()), left = adjoint(out.behind.back());
        for (std::size_t row = 0; row < size; ++row)
            for (std::size_t k = 0; k < size; ++k)
                if (!(k & bit)) {
                    Complex &a = matrix[size * row + k], &b = matrix[size * row + (k | bit)];
                    const Complex zero = a, set = b;
                    a = times(zero, right[0]) + times(set, right[2]), b = times(zero, right[1]) + times(set, right[3]);
                }
        for (std::size_t row = 0; row < size; ++row)
            for (std::size_t k = 0; !(row & bit) && k < size; ++k) {
                Complex &a = matrix[size * row + k], &b = matrix[size * (row | bit) + k];
                const Complex zero = a, set = b;
                a = times(left[0], zero) + times(left[1], set), b = times(left[2], zero) + times(left[3], set);
            }
    }
    return out;
}

}  // namespace qx::form
