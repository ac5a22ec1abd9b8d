// Complex numbers that are finite.
#pragma once

#include <cmath>
#include <complex>

namespace qx::form {

using Complex = std::complex<double>;

// The product of finite numbers, for which no infinities are looked for.
inline Complex times(const Complex& a, const Complex& b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline Complex times(const Complex& a, double b) { return a * b; }
// The absolute value of a number that is neither huge nor tiny: std::abs minds those, which takes many times as long.
inline double size_of(const Complex& one) { return std::sqrt(std::norm(one)); }

}  // namespace qx::form
