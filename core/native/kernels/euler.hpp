// Euler angles of unitary 2x2 matrices; see qsim_ex.steps.Euler.
#pragma once

#include <cmath>

namespace qx {

struct Complex {
    double re = 0, im = 0;

    Complex operator*(Complex other) const { return {re * other.re - im * other.im, re * other.im + im * other.re}; }
    Complex operator*(double size) const { return {re * size, im * size}; }
    Complex operator-() const { return {-re, -im}; }
    Complex& operator+=(Complex other) { return re += other.re, im += other.im, *this; }
    Complex conj() const { return {re, -im}; }
    Complex over_i() const { return {im, -re}; }
};

// Writes the seven numbers of a matrix with the entries a, b, c, d.
//
// A small entry has an inexact phase, since it may be the rest of a cancellation. So the phase of a large entry is never
// computed from those of small ones: beta comes from the larger of b and d, and that of an imaginary rotation, whose
// phases both columns have, from the larger entries.
inline void split_rotation(Complex a, Complex b, Complex c, Complex d, bool imaginary, Complex* out) {
    constexpr double tiny = 1e-300;  // below, a number counts as 0, and dividing by it may overflow
    auto unit = [](Complex entry, double size) {  // the phase of 0 is 1
        return size < tiny ? Complex{1, 0} : Complex{entry.re / size, entry.im / size};
    };
    auto phase = [&](Complex entry) { return unit(entry, std::hypot(entry.re, entry.im)); };
    const double cosine = std::hypot(a.re, a.im), sine = std::hypot(c.re, c.im);
    const bool tangent = sine <= cosine;
    if (imaginary) {
        const Complex gamma = tangent ? unit(a, cosine) : unit(c, sine).over_i();
        out[0] = out[3] = {(a * gamma.conj()).re, 0};
        out[1] = out[2] = {0, (c * gamma.conj()).im};
        out[4] = {1, 0};
        out[5] = (tangent ? phase(d) : phase(b).over_i()) * gamma.conj();
        out[6] = gamma;
        return;
    }
    const Complex gamma = unit(a, cosine), alpha = unit(c, sine) * gamma.conj();
    out[0] = out[3] = {cosine, 0};
    out[1] = {-sine, 0}, out[2] = {sine, 0};
    out[4] = alpha;
    out[5] = (tangent ? phase(d) * alpha.conj() : -phase(b)) * gamma.conj();
    out[6] = gamma;
}

}  // namespace qx
