// Weyl's decomposition of two-wire matrices.
//
// In the basis of Bell states ("magic") turns of single wires are real and exp(i (a XX + b YY + c ZZ)) is diagonal. So a
// matrix u is K1 D K2 there, and u^T u = K2^T D² K2: its real and its imaginary part commute, and rotations in planes
// diagonalise both at once (Cardoso and Souloumiac, SIAM J. Matrix Anal. Appl. 17, 161 (1996)), however close their
// eigenvalues are.

#include "planner/form/gates/weyl.hpp"

#include <cmath>

namespace qx::form {

namespace {

using Matrix = std::array<std::array<Complex, 4>, 4>;
using Real = std::array<std::array<double, 4>, 4>;

constexpr double half = 0.70710678118654752440;
constexpr Complex i{0, 1};

// The magic basis: its columns are (00 + 11), i (00 - 11), i (01 + 10) and (01 - 10), over √2.
const Matrix magic{
    {{{half, i * half, 0, 0}}, {{0, 0, i * half, half}}, {{0, 0, i * half, -half}}, {{half, -i * half, 0, 0}}}};

template <class A, class B>
Matrix product(const A& a, const B& b) {
    Matrix out{};
    for (std::size_t r = 0; r < 4; ++r)
        for (std::size_t c = 0; c < 4; ++c)
            for (std::size_t k = 0; k < 4; ++k) out[r][c] += times(a[r][k], b[k][c]);
    return out;
}

Matrix adjoint(const Matrix& a) {
    Matrix out;
    for (std::size_t r = 0; r < 4; ++r)
        for (std::size_t c = 0; c < 4; ++c) out[r][c] = std::conj(a[c][r]);
    return out;
}

double determinant(Real a) {
    double out = 1;
    for (std::size_t k = 0; k < 4; ++k) {
        std::size_t pivot = k;
        for (std::size_t r = k; r < 4; ++r)
            if (std::fabs(a[r][k]) > std::fabs(a[pivot][k])) pivot = r;
        if (pivot != k) std::swap(a[pivot], a[k]), out = -out;
        out *= a[k][k];
        for (std::size_t r = k + 1; r < 4; ++r)
            for (std::size_t c = 4; c-- > k;) a[r][c] -= a[r][k] / a[k][k] * a[k][c];
    }
    return out;
}

// Turns the columns p and q of an orthogonal matrix, and both parts of a symmetric matrix with them, so that what they have
// beside the diagonal there is least; returns the sine of the angle.
double turn_plane(Real& columns, Real* parts, std::size_t p, std::size_t q) {
    double on = 0, off = 0;
    for (const Real* part : {parts, parts + 1}) {
        const double difference = (*part)[p][p] - (*part)[q][q], twice = 2 * (*part)[p][q];
        on += difference * difference - twice * twice, off += 2 * difference * twice;
    }
    constexpr double rounding = 1e-30;  // of squares
    if (std::hypot(on, off) < rounding) return 0;
    const double angle = std::atan2(off, on) / 4, c = std::cos(angle), s = std::sin(angle);
    for (Real* part : {parts, parts + 1}) {
        for (auto& row : *part) {
            const double a = row[p], b = row[q];
            row[p] = c * a + s * b, row[q] = c * b - s * a;
        }
        for (std::size_t k = 0; k < 4; ++k) {
            const double a = (*part)[p][k], b = (*part)[q][k];
            (*part)[p][k] = c * a + s * b, (*part)[q][k] = c * b - s * a;
        }
    }
    for (auto& row : columns) {
        const double a = row[p], b = row[q];
        row[p] = c * a + s * b, row[q] = c * b - s * a;
    }
    return s;
}

// Returns an orthogonal matrix of determinant 1 whose columns diagonalise a symmetric unitary matrix.
Real eigenvectors(const Matrix& symmetric) {
    Real columns{}, parts[2];
    for (std::size_t r = 0; r < 4; ++r) {
        columns[r][r] = 1;
        for (std::size_t c = 0; c < 4; ++c) {
            const Complex mean = 0.5 * (symmetric[r][c] + symmetric[c][r]);
            parts[0][r][c] = mean.real(), parts[1][r][c] = mean.imag();
        }
    }
    constexpr int most_rounds = 16;
    constexpr double enough = 1e-9;  // since what is left is its square
    for (int round = 0; round < most_rounds; ++round) {
        double most = 0;
        for (std::size_t p = 0; p < 3; ++p)
            for (std::size_t q = p + 1; q < 4; ++q) most = std::fmax(most, std::fabs(turn_plane(columns, parts, p, q)));
        if (most < enough) break;
    }
    if (determinant(columns) < 0)
        for (auto& row : columns) row[0] = -row[0];
    return columns;
}

// Takes B ⊗ A apart, up to a phase that is written.
void factors(const Matrix& m, Turn* out, double& phase) {
    std::size_t r = 0, c = 0;  // the largest block [2, 2] of A
    double most = 0;
    for (std::size_t row = 0; row < 2; ++row)
        for (std::size_t column = 0; column < 2; ++column) {
            double norm = 0;
            for (std::size_t k = 0; k < 4; ++k) norm += std::norm(m[2 * row + k / 2][2 * column + k % 2]);
            if (norm > most) most = norm, r = row, c = column;
        }
    Complex low[4], high[4];
    for (std::size_t k = 0; k < 4; ++k) low[k] = m[2 * r + k / 2][2 * c + k % 2] / std::sqrt(most / 2);
    for (std::size_t k = 0; k < 4; ++k) {  // the trace of A† times each block
        high[k] = 0;
        for (std::size_t j = 0; j < 4; ++j) high[k] += std::conj(low[j]) * m[2 * (k / 2) + j / 2][2 * (k % 2) + j % 2];
        high[k] /= 2;
    }
    double first = 0, second = 0;
    out[0] = Turn::of(low, first), out[1] = Turn::of(high, second);
    phase += first + second;
}

// Lets the only angle that is no quarter turn be that of ZZ: a turn about another axis exchanges two of them.
void put_last(Weyl& of) {
    constexpr double quarter = 0.78539816339744830962, near = 1e-11;
    const auto generic = [&](std::size_t k) {
        const double angle = of.angles[k];
        return std::fabs(angle - std::nearbyint(angle / quarter) * quarter) > near;
    };
    if (generic(2) || generic(0) == generic(1)) return;
    const std::size_t which = generic(0) ? 0 : 1;
    const Turn turn = Turn::about(which == 0 ? 1 : 0, 2 * quarter);  // of X into Z about Y, of Y into Z about X
    std::swap(of.angles[which], of.angles[2]);
    for (int wire = 0; wire < 2; ++wire) {
        of.before[wire] = turn * of.before[wire];
        of.after[wire] = of.after[wire] * turn.inverse();
    }
}

}  // namespace

Weyl::Weyl(const Complex* matrix) {
    Matrix u;
    for (std::size_t r = 0; r < 4; ++r)
        for (std::size_t c = 0; c < 4; ++c) u[r][c] = matrix[4 * r + c];
    u = product(adjoint(magic), product(u, magic));
    Matrix transposed;
    for (std::size_t r = 0; r < 4; ++r)
        for (std::size_t c = 0; c < 4; ++c) transposed[r][c] = u[c][r];
    const Matrix square = product(transposed, u);
    const Real vectors = eigenvectors(square);
    // u vectors = K1 D: each column is a real one times a phase.
    const Matrix columns = product(u, vectors);
    Real first;
    double phases[4];
    for (std::size_t c = 0; c < 4; ++c) {
        Complex sum = 0;
        for (std::size_t r = 0; r < 4; ++r) sum += columns[r][c] * columns[r][c];
        phases[c] = std::arg(sum) / 2;
        for (std::size_t r = 0; r < 4; ++r) first[r][c] = (columns[r][c] * std::polar(1.0, -phases[c])).real();
    }
    if (determinant(first) < 0) {
        phases[0] += 3.14159265358979323846;
        for (auto& row : first) row[0] = -row[0];
    }
    Real second;
    for (std::size_t r = 0; r < 4; ++r)
        for (std::size_t c = 0; c < 4; ++c) second[r][c] = vectors[c][r];
    factors(product(magic, product(first, adjoint(magic))), after, phase);
    factors(product(magic, product(second, adjoint(magic))), before, phase);
    // The phases of the columns are a - b + c, b - a + c, a + b - c and -a - b - c, plus one of all.
    phase += (phases[0] + phases[1] + phases[2] + phases[3]) / 4;
    angles[0] = (phases[0] - phases[1] + phases[2] - phases[3]) / 4;
    angles[1] = (phases[1] - phases[0] + phases[2] - phases[3]) / 4;
    angles[2] = (phases[0] + phases[1] - phases[2] - phases[3]) / 4;
    put_last(*this);
}

}  // namespace qx::form
