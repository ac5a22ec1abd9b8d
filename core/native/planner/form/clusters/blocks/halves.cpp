// Between which matrices of two wires each a matrix on four wires has zeros.

#include "planner/form/clusters/blocks/halves.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "planner/form/clusters/pair.hpp"

namespace qx::form {

namespace {

constexpr std::size_t operators = 15, all = 2 * operators, size = 16;  // of a half, of both; rows
constexpr int squarings = 26;  // by which what is shortened at all, but for rounding, is gone
constexpr double gone = 1e-9, settled = 1e-8, equal = 1e-6, rounding = 1e-12;  // settled: a square less is rounding
constexpr double some = 0.05;  // of a vector: a state that is less of it would make rounding large

using Vector = std::array<double, all>;
using Map = std::array<double, all * all>;
using Places = std::array<std::array<std::size_t, 4>, 2>;  // of a half's four states in the number of a row

Places places_of(const std::array<Mask, 2>& bits) {
    Places out{};
    for (std::size_t half = 0; half < 2; ++half)
        for (std::size_t state = 0; state < 4; ++state)
            out[half][state] = (state & 1 ? unit(lowest(bits[half])) : 0) | (state & 2 ? unit(highest(bits[half])) : 0);
    return out;
}

// The entry of an operator of two wires, a product of X where `which` has one of two bits and of Z where it has one of the
// next two, in a column, whose row is the column with X's bits changed.
Complex entry(std::size_t which, std::size_t column) {
    const std::size_t x = which & 3, z = which >> 2;
    const Complex sign = is_odd(z & column) ? -1 : 1;
    return count(x & z) == 0 ? sign : count(x & z) == 1 ? Complex(0, 1) * sign : -sign;
}

// Adds what the operators of one half are behind the matrix, in those of another.
void fill(const std::vector<Complex>& matrix, const Places& places, std::size_t to, std::size_t from, Map& map) {
    std::array<Complex, 256> traced{};  // [row, row of the adjoint, column, column of the adjoint]
    const auto at = [&](std::size_t row, std::size_t other_row, std::size_t column, std::size_t other_column) {
        return matrix[size * (places[to][row] | places[1 - to][other_row]) +
                      (places[from][column] | places[1 - from][other_column])];
    };
    for (std::size_t q = 0; q < 16; ++q)
        for (std::size_t k = 0; k < 16; ++k) {
            const Complex one = at(k >> 2, q >> 2, k & 3, q & 3);
            for (std::size_t j = 0; j < 16; ++j)
                traced[64 * (k >> 2) + 16 * (j >> 2) + 4 * (k & 3) + (j & 3)] +=
                    times(one, std::conj(at(j >> 2, q >> 2, j & 3, q & 3)));
        }
    for (std::size_t a = 1; a < 16; ++a) {
        std::array<Complex, 16> image{};
        for (std::size_t k = 0; k < 16; ++k)
            for (std::size_t column = 0; column < 4; ++column)
                image[k] += times(traced[16 * k + 4 * (column ^ (a & 3)) + column], entry(a, column));
        for (std::size_t b = 1; b < 16; ++b) {
            Complex sum = 0;
            for (std::size_t column = 0; column < 4; ++column)
                sum += times(entry(b, column), image[4 * column + (column ^ (b & 3))]);
            map[all * (operators * to + b - 1) + operators * from + a - 1] = sum.real() / size;
        }
    }
}

// Returns the product of a map's transpose and the map.
Map square(const Map& of) {
    Map out{};
    for (std::size_t k = 0; k < all; ++k)
        for (std::size_t i = 0; i < all; ++i)
            for (std::size_t j = 0; j <= i; ++j) out[all * i + j] += of[all * k + i] * of[all * k + j];
    for (std::size_t i = 0; i < all; ++i)
        for (std::size_t j = 0; j < i; ++j) out[all * j + i] = out[all * i + j];
    return out;
}

Vector image(const Map& map, const Vector& of) {
    Vector out{};
    for (std::size_t i = 0; i < all; ++i)
        for (std::size_t k = 0; k < all; ++k) out[i] += map[all * i + k] * of[k];
    return out;
}

// Returns what projects on the sums whose length a map keeps; nothing if there is none.
std::optional<Map> kept(const Map& map) {
    Map out = square(map);
    for (int round = 0; round < squarings; ++round) {
        const Map next = square(out);
        double change = 0, most = 0;
        for (std::size_t k = 0; k < next.size(); ++k)
            change = std::max(change, std::fabs(next[k] - out[k])), most = std::max(most, std::fabs(next[k]));
        out = next;
        if (most < gone) return {};
        if (change < settled) break;
    }
    return out;
}

// A Hermitian matrix of two wires, and its eigenvectors, by turns of two of them at a time.
struct Eigen {
    Matrix4 of{}, vectors{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};

    Eigen(const Vector& sum, std::size_t half) {
        for (std::size_t a = 1; a < 16; ++a)
            for (std::size_t column = 0; column < 4; ++column)
                of[4 * (column ^ (a & 3)) + column] += sum[operators * half + a - 1] * entry(a, column);
        for (int round = 0; round < squarings; ++round)
            for (std::size_t p = 0; p < 3; ++p)
                for (std::size_t q = p + 1; q < 4; ++q) turn(p, q);
    }
    double value(std::size_t k) const { return of[5 * k].real(); }

  private:
    void turn(std::size_t p, std::size_t q) {
        const Complex off = of[4 * p + q];
        if (size_of(off) < 1e-17) return;
        const double angle = std::atan2(2 * size_of(off), value(p) - value(q)) / 2;
        const Complex by = off / size_of(off);
        const double c = std::cos(angle), s = std::sin(angle);
        const auto columns = [&](Matrix4& m) {
            for (std::size_t row = 0; row < 4; ++row) {
                const Complex a = m[4 * row + p], b = m[4 * row + q];
                m[4 * row + p] = c * a + s * std::conj(by) * b, m[4 * row + q] = c * b - s * by * a;
            }
        };
        columns(of), columns(vectors);
        for (std::size_t column = 0; column < 4; ++column) {
            const Complex a = of[4 * p + column], b = of[4 * q + column];
            of[4 * p + column] = c * a + s * by * b, of[4 * q + column] = c * b - s * std::conj(by) * a;
        }
    }
};

// Eigenvectors of equal eigenvalues: what projects on those that are not taken yet, and how many these are.
struct Space {
    double value;
    Matrix4 onto{};
    int left = 0;

    double part(std::size_t state) const { return onto[5 * state].real(); }
};

std::vector<Space> spaces_of(const Eigen& found) {
    std::vector<Space> out;
    for (std::size_t k = 0; k < 4; ++k) {
        auto space = std::find_if(out.begin(), out.end(),
                                  [&](const Space& one) { return std::fabs(one.value - found.value(k)) <= equal; });
        if (space == out.end()) space = out.insert(space, {found.value(k)});
        space->left += 1;
        for (std::size_t r = 0; r < 4; ++r)
            for (std::size_t c = 0; c < 4; ++c)
                space->onto[4 * r + c] += times(found.vectors[4 * r + k], std::conj(found.vectors[4 * c + k]));
    }
    return out;
}

// Returns a matrix whose columns are eigenvectors of a sum's term, each where a state is most of it, and positive there: the
// identity, if that is one. Where none of the states that are left is a part of what is left, it is one of another state.
Matrix4 eigenvectors(const Vector& sum, std::size_t half) {
    std::vector<Space> spaces = spaces_of(Eigen(sum, half));
    Matrix4 out{};
    std::array<bool, 4> done{};
    for (int round = 0; round < 4; ++round) {
        std::size_t state = 4;
        Space* space = nullptr;
        for (Space& one : spaces)
            for (std::size_t r = 0; one.left && r < 4; ++r)
                if (!done[r] && (!space || one.part(r) > space->part(state) + rounding)) space = &one, state = r;
        done[state] = true, space->left -= 1;
        std::size_t most = state;
        if (space->part(state) < some)
            for (std::size_t r = 0; r < 4; ++r)
                if (space->part(r) > space->part(most)) most = r;
        const double length = std::sqrt(space->part(most));
        std::array<Complex, 4> own;
        for (std::size_t r = 0; r < 4; ++r) out[4 * r + state] = own[r] = space->onto[4 * r + most] / length;
        for (std::size_t r = 0; r < 4; ++r)
            for (std::size_t c = 0; c < 4; ++c) space->onto[4 * r + c] -= times(own[r], std::conj(own[c]));
    }
    return out;
}

Matrix4 adjoint_of(const Matrix4& of) {
    Matrix4 out;
    for (std::size_t r = 0; r < 4; ++r)
        for (std::size_t c = 0; c < 4; ++c) out[4 * r + c] = std::conj(of[4 * c + r]);
    return out;
}

// Lets a matrix of a half act before another one, or behind it.
void act(const Matrix4& by, const std::array<std::size_t, 4>& own, const std::array<std::size_t, 4>& others, bool before,
         std::vector<Complex>& on) {
    for (std::size_t line = 0; line < size; ++line)
        for (const std::size_t other : others) {
            std::array<Complex, 4> was, now{};
            const auto at = [&](std::size_t k) -> Complex& {
                return before ? on[size * line + (own[k] | other)] : on[size * (own[k] | other) + line];
            };
            for (std::size_t k = 0; k < 4; ++k) was[k] = at(k);
            for (std::size_t k = 0; k < 4; ++k)
                for (std::size_t j = 0; j < 4; ++j) now[k] += times(before ? by[4 * j + k] : by[4 * k + j], was[j]);
            for (std::size_t k = 0; k < 4; ++k) at(k) = now[k];
        }
}

}  // namespace

Halves take_halves(const std::vector<Complex>& matrix, Mask low) {
    Halves best{{low, below(4) & ~low}, {}, {}, matrix, size * size};
    const Places places = places_of(best.bits);
    Map map;
    for (std::size_t to = 0; to < 2; ++to)
        for (std::size_t from = 0; from < 2; ++from) fill(matrix, places, to, from, map);
    const std::optional<Map> projected = kept(map);
    if (!projected) return best;
    for (const bool diagonal : {true, false}) {
        Vector any{};  // of no two that are alike, so that nothing cancels
        for (std::size_t k = 0; k < all; ++k)
            if (!diagonal || !((k % operators + 1) & 3)) any[k] = 1 + 0.618 * static_cast<double>(7 * k % 31) / 31;
        const Vector before = image(*projected, any), behind = image(map, before);
        Halves own = best;
        own.left = matrix;
        for (std::size_t half = 0; half < 2; ++half) {
            own.behind[half] = eigenvectors(behind, half);
            const Matrix4 right = eigenvectors(before, half);
            own.before[half] = adjoint_of(right);
            act(right, places[half], places[1 - half], true, own.left);
            act(adjoint_of(own.behind[half]), places[half], places[1 - half], false, own.left);
        }
        own.filled = static_cast<std::size_t>(
            std::count_if(own.left.begin(), own.left.end(), [](Complex one) { return size_of(one) > rounding; }));
        if (own.filled < best.filled) best = std::move(own);
    }
    return best;
}

std::vector<Piece> pieces_of(const Matrix4& matrix, Mask wires, double& phase) {
    const Weyl of(matrix.data());
    std::vector<Piece> out;
    std::array<Matrix2, 2> turns{matrix_of(of.before[0]), matrix_of(of.before[1])};
    phase += of.phase;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const bool x = axis < 2, z = axis > 0;
        const double halves = std::nearbyint(of.angles[axis] / (std::numbers::pi / 2));
        if (std::fabs(of.angles[axis] - halves * (std::numbers::pi / 2)) < rounding) {
            phase += halves * (std::numbers::pi / 2);
            for (Matrix2& one : turns)
                if (std::fmod(halves, 2) != 0) one = operator_matrix(x, z) * one;
            continue;
        }
        Piece piece{Piece::parity, wires, -2 * of.angles[axis]};
        for (Matrix2& one : turns) piece.before.push_back(to_z(x, z) * one), one = adjoint(to_z(x, z));
        piece.parts = 0;
        out.push_back(std::move(piece));
    }
    for (std::size_t k = 0; k < 2; ++k)
        out.push_back({Piece::turn, unit(k ? highest(wires) : lowest(wires)), 0, 0, {matrix_of(of.after[k]) * turns[k]}});
    return out;
}

}  // namespace qx::form
