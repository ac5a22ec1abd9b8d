// The numbers of rotations that kernels apply with one of their two numbers made 1; see
// qsim_ex.kernels.cuda.write.pivots, whose `Pivot.record` says what a record holds.
#pragma once

#include <cmath>
#include <cstdint>

namespace qx {

// Where a pair of rotations has its numbers, counted from the first: four entries of each, for each the number that is left
// and the way in which it is applied, and the ratio of the second scale to the first.
constexpr int pivot_left = 8, pivot_ratio = 12;

enum Way : int { by_tangent, by_cotangent, by_matrix };

// A matrix [x, i y; i z, w] as a scale times one that has a 1, if it is a rotation; or as itself.
struct Rotation {
    double left = 0, scale = 1;
    Way way = by_matrix;

    Rotation(double x, double y, double z, double w) {
        constexpr double rounding = 1e-12;  // how far equal numbers may be apart by rounding alone
        const double size = x * x + y * y;
        if (!(std::abs(x - w) < rounding && std::abs(y - z) < rounding && size > 0.5 && size < 2)) return;
        way = std::abs(x) >= std::abs(y) ? by_tangent : by_cotangent;
        scale = way == by_tangent ? x : y;
        left = (way == by_tangent ? y : x) / scale;
    }
};

// Writes the numbers of some pairs among the values that a kernel takes. raw: returns each value as it was gathered.
template <class Raw, class Real>
void pivot(const Raw& raw, Real* values, const std::int32_t* at, const std::int32_t* end) {
    while (at < end) {
        const std::int32_t first = at[0], total = at[1], folds = at[2];
        auto rotation = [&](int k) { return Rotation(raw(k), raw(k + 1), raw(k + 2), raw(k + 3)); };
        auto put = [&](int k, const Rotation& found) {
            values[k] = static_cast<Real>(found.left);
            values[k + 1] = static_cast<Real>(found.way);
        };
        const Rotation one = rotation(first), other = rotation(first + 4);
        put(first + pivot_left, one);
        put(first + pivot_left + 2, other);
        const double ratio = other.scale / one.scale;
        values[first + pivot_ratio] = static_cast<Real>(ratio);
        for (int k = 0; k < folds; ++k) values[at[3 + k]] = static_cast<Real>(values[at[3 + k]] * ratio);
        if (folds < 0)  // nothing takes the ratio: the second one is a matrix
            for (int k = first + 4; k < first + 8; ++k) values[k] = static_cast<Real>(raw(k) / one.scale);
        values[total] = static_cast<Real>(values[total] * one.scale);
        at += 3 + (folds < 0 ? 0 : folds);
    }
}

}  // namespace qx
