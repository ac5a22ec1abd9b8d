// Dense blocks as rotations and phases.

#include "planner/blocks/factors.hpp"

#include <algorithm>
#include <cmath>

namespace qx::plan {

namespace {

constexpr double not_unitary = 1e-9;
constexpr double nothing = 1e-30;  // squares of what is no more than rounding

double norm(Complex a, Complex b) { return std::sqrt(std::norm(a) + std::norm(b)); }

// The unitary matrix whose first column is (a, b) but for its length; 1 if that is nothing.
Small beginning_with(Complex a, Complex b) {
    const double size = norm(a, b);
    if (!(size * size > nothing)) return {};
    a /= size, b /= size;
    return {{{a, -std::conj(b)}, {b, std::conj(a)}}};
}

// What makes rows of four entries diagonal: matrices by which its bits are multiplied, with what is at 0 and at 3 real and
// not negative, the larger one at 0. Returns both.
void make_diagonal(const Complex* row, Small* by) {
    // With rows as a matrix [bit 1, bit 0], the first column for bit 0 is an eigenvector of its square.
    const double p = std::norm(row[0]) + std::norm(row[2]), q = std::norm(row[1]) + std::norm(row[3]);
    const Complex r = std::conj(row[0]) * row[1] + std::conj(row[2]) * row[3];
    const double half = (p - q) / 2, root = std::sqrt(half * half + std::norm(r));
    by[0] = half >= 0 ? beginning_with(half + root, std::conj(r)) : beginning_with(r, root - half);
    Complex turned[2][2];  // [bit 1, bit 0]
    for (int high = 0; high < 2; ++high)
        for (int low = 0; low < 2; ++low)
            turned[high][low] = row[2 * high] * by[0].at[0][low] + row[2 * high + 1] * by[0].at[1][low];
    by[1] = beginning_with(std::conj(turned[0][0]), std::conj(turned[1][0]));
    const Complex last = turned[0][1] * by[1].at[0][1] + turned[1][1] * by[1].at[1][1];
    if (std::norm(last) > nothing)
        for (int k = 0; k < 2; ++k) by[1].at[k][1] *= std::conj(last) / std::abs(last);
}

// For eight entries: what makes those at 1, 2 and 3 zero.
void make_sparse(const Complex* row, Small* by) {
    const Complex *low = row, *high = row + 4;
    const auto determinant = [](const Complex* m) { return m[0] * m[3] - m[1] * m[2]; };
    const Complex a = determinant(high), c = determinant(low);
    const Complex b = low[0] * high[3] + high[0] * low[3] - low[1] * high[2] - high[1] * low[2];
    // a z² + b z + c = 0 for z = v / u of the sum u low + v high, which has rank 1; the larger of two sums is taken in b.
    Complex root = std::sqrt(b * b - 4.0 * a * c);
    if ((std::conj(b) * root).real() < 0) root = -root;
    const Complex sum = -0.5 * (b + root);
    by[2] = std::norm(a) > std::norm(c) ? beginning_with(a, sum) : beginning_with(sum, c);
    Complex first[4];
    for (int k = 0; k < 4; ++k) first[k] = low[k] * by[2].at[0][0] + high[k] * by[2].at[1][0];
    make_diagonal(first, by);
}

void multiply_column(Complex* matrix, int size, int column, Complex by) {
    for (int row = 0; row < size; ++row) matrix[row * size + column] *= by;
}

}  // namespace

Small Small::adjoint() const {
    return {{{std::conj(at[0][0]), std::conj(at[1][0])}, {std::conj(at[0][1]), std::conj(at[1][1])}}};
}

void multiply(Complex* matrix, int size, const Small& by, int bit, bool before) {
    const int row = before ? 1 : size, column = before ? size : 1;  // strides: of the index that changes, and of the other
    for (int k = 0; k < size; ++k)
        for (int place = 0; place < size; ++place) {
            if (place >> bit & 1) continue;
            Complex &low = matrix[place * row + k * column], &high = matrix[(place | 1 << bit) * row + k * column];
            const Complex a = low, b = high;
            if (before) low = a * by.at[0][0] + b * by.at[1][0], high = a * by.at[0][1] + b * by.at[1][1];
            else low = by.at[0][0] * a + by.at[0][1] * b, high = by.at[1][0] * a + by.at[1][1] * b;
        }
}

bool is_unitary(const Complex* matrix, int size) {
    for (int a = 0; a < size; ++a)
        for (int b = 0; b < size; ++b) {
            Complex sum = a == b ? -1 : 0;
            for (int k = 0; k < size; ++k) sum += std::conj(matrix[size * k + a]) * matrix[size * k + b];
            if (!(std::abs(sum) < not_unitary)) return false;
        }
    return true;
}

template <int bits>
Factors<bits>::Factors(const Complex* matrix, int flips) : flips(flips) {
    constexpr int size = Form::size;
    Complex m[size * size];
    for (int row = 0; row < size; ++row) std::copy_n(matrix + (row ^ flips) * size, size, m + row * size);
    if constexpr (bits == 2) make_diagonal(m, before);
    else make_sparse(m, before);
    for (int bit = 0; bit < bits; ++bit) multiply(m, size, before[bit], bit, true);
    // Phases of bits are left, which make entries of the first row real; on two bits also the first ones of the last row.
    const auto angle = [&](int row, int column) { return std::arg(m[row * size + column]); };
    double phases[3] = {};
    if constexpr (bits == 2) {
        phases[0] = (angle(3, 2) - angle(3, 1)) / 2, phases[1] = -phases[0];
    } else {
        phases[1] = angle(0, 5) - angle(0, 7), phases[0] = angle(0, 6) - angle(0, 7);
        phases[2] = angle(0, 0) - angle(0, 5) - phases[0];
    }
    for (int bit = 0; bit < bits; ++bit) {
        const Small by{{{1, 0}, {0, std::polar(1.0, phases[bit])}}};
        multiply(m, size, by, bit, true);
        for (int k = 0; k < 2; ++k) before[bit].at[k][1] *= by.at[1][1];
    }
    // Each rotation makes an entry zero: those of the first row, then of the last one, and so on.
    good = true;
    for (int k = 0, row = size, left = 0; k < Form::rotations; ++k) {
        const auto [a, b, with_phase] = Form::order.at[k];
        if (bits == 2 ? k > 0 : k > 3) {
            if (left == 0) --row, left = row - 1;
            --left;
        }
        const Complex* entries = m + (row == size ? 0 : row * size);
        if (with_phase && std::norm(entries[a]) > nothing && std::norm(entries[b]) > nothing) {
            phase[k] = std::arg(entries[b]) - std::arg(entries[a]);
            multiply_column(m, size, b, std::polar(1.0, -phase[k]));
        }
        const double beside = (entries[a] * std::conj(entries[b])).real(), square = std::norm(entries[b]);
        tangent[k] = std::norm(entries[a]) > nothing ? beside / square : 0;
        good = good && std::fabs(tangent[k]) < steepest && std::fabs(std::tan(phase[k])) < steepest;
        const double c = 1 / std::sqrt(1 + tangent[k] * tangent[k]), s = tangent[k] * c;
        for (int other = 0; other < size; ++other) {
            Complex &x = m[other * size + a], &y = m[other * size + b];
            const Complex was = x;
            x = c * x - s * y, y = s * was + c * y;
        }
    }
    for (int row = 0; row < size; ++row) {
        ends[row] = m[row * size + row];
        good = good && std::fabs(std::norm(ends[row]) - 1) < not_unitary;
        if (row && !Form::is_scaled(row, false)) good = good && std::fabs((ends[row] / ends[0]).real()) > 1 / steepest;
    }
    for (int bit = 0; bit < bits; ++bit) before[bit] = before[bit].adjoint();
}

template <int bits>
double Factors<bits>::larger(int bit) const {
    double sizes[Form::size] = {};
    for (int k = 0; k < Form::rotations; ++k) {
        const auto [a, b, with_phase] = Form::order.at[k];
        if (with_phase) sizes[b] -= std::log2(std::fabs(std::cos(phase[k])));
        for (int row : {a, b}) sizes[row] += std::log2(1 + tangent[k] * tangent[k]) / 2;
    }
    for (int row = 1; row < Form::size; ++row)
        if (!Form::is_scaled(row, false)) sizes[row] -= std::log2(std::fabs((ends[row] / ends[0]).real()));
    if (bits == 2) sizes[3] = sizes[1] + sizes[2] - sizes[0];
    return sizes[flips ^ 1 << bit] - sizes[flips];
}

template struct Factors<2>;
template struct Factors<3>;

}  // namespace qx::plan
