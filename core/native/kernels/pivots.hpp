// The numbers of pairs of rotations that kernels apply with one of their two numbers made 1; see
// qsim_ex.kernels.cuda.write.pivots, whose `Pivot.record` says what a record holds.
#pragma once

#include <cmath>
#include <cstdint>

namespace qx {

enum class Pivoted : int { pair, product };
enum Way : int { by_tangent, by_cotangent, by_matrix };

// More than rounding leaves of the sine of a difference of equal angles, also where the matrix is a product of 20 others,
// and no more than rounding the numbers of a few such matrices changes amplitudes by.
constexpr double rounding_of_sines = 1e-15;

// A matrix [x, i y; i z, w] as a scale times one that has ones, if it is a rotation; or as itself. left: the number beside
// the ones.
struct Rotation {
    double left = 0, scale = 1;
    Way way = by_matrix;

    Rotation(double x, double y, double z, double w) {
        constexpr double rounding = 1e-12;  // how far equal numbers may be apart by rounding alone
        const double size = x * x + y * y;
        if (!(size > 0.5 && size < 2)) return;
        if (!(std::abs(x - w) < rounding && std::abs(y - z) < rounding)) return;
        const bool tangent = std::abs(x) >= std::abs(y);
        way = tangent ? by_tangent : by_cotangent;
        scale = tangent ? x : y;
        left = (tangent ? y : x) / scale;
    }
};

// Writes the numbers of some pairs among the values that a kernel takes. raw: returns each value as it was gathered.
//
// A pair has the four entries of both rotations, then of both the number that is left and the way in which it is applied,
// and then the ratio of the second scale to the first. Where a phase of a kernel
// has a text of its own for usual pairs, the value that says so becomes 0 if one of them is not: usually the first rotation
// is by no angle, and the second one by a tangent, or a matrix in any case. Records of products, of two complex values to
// a third, come behind those of pairs.
template <class Raw, class Real>
void pivot(const Raw& raw, Real* values, const std::int32_t* at, const std::int32_t* end) {
    while (at < end) {
        if (static_cast<Pivoted>(at[0]) == Pivoted::product) {
            const double x = values[at[2]], y = values[at[2] + 1], z = values[at[3]], w = values[at[3] + 1];
            values[at[1]] = static_cast<Real>(x * z - y * w);
            values[at[1] + 1] = static_cast<Real>(x * w + y * z);
            at += 4;
            continue;
        }
        const std::int32_t first = at[1], total = at[2], usual = at[3], folds = at[4];
        auto rotation = [&](int k) { return Rotation(raw(k), raw(k + 1), raw(k + 2), raw(k + 3)); };
        auto put = [&](int k, const Rotation& found) {
            values[k] = static_cast<Real>(found.left);
            values[k + 1] = static_cast<Real>(found.way);
        };
        const Rotation one = rotation(first), other = rotation(first + 4);
        const double ratio = other.scale / one.scale;
        put(first + 8, one);
        put(first + 10, other);
        values[first + 12] = static_cast<Real>(ratio);
        for (int k = 0; k < folds; ++k) values[at[5 + k]] = static_cast<Real>(values[at[5 + k]] * ratio);
        if (folds < 0)  // nothing takes the ratio: the second one is a matrix
            for (int k = first + 4; k < first + 8; ++k) values[k] = static_cast<Real>(raw(k) / one.scale);
        const bool nothing = one.way == by_tangent && std::abs(one.left) < rounding_of_sines;
        if (usual >= 0 && !(nothing && (folds < 0 || other.way == by_tangent))) values[usual] = 0;
        values[total] = static_cast<Real>(values[total] * one.scale);
        at += 5 + (folds < 0 ? 0 : folds);
    }
}

}  // namespace qx
