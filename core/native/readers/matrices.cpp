// Which of many small matrices are unitary, and which of their entries are zero: qsim_ex.circuit.matrices.

#include <cmath>
#include <complex>

#include "base/export.hpp"

namespace {

using qx::Int;
using Complex = std::complex<double>;

enum Kind : std::uint8_t { wrong, general, diagonal };

// Returns whether every entry of U†U − 1 is within a tolerance; one that is no number is not.
bool is_unitary(const Complex* matrix, Int size, double tolerance) {
    for (Int left = 0; left < size; ++left)
        for (Int right = left; right < size; ++right) {
            double re = left == right ? -1 : 0, im = 0;
            for (Int row = 0; row < size; ++row) {
                Complex a = matrix[row * size + left], b = matrix[row * size + right];
                re += a.real() * b.real() + a.imag() * b.imag();
                im += a.real() * b.imag() - a.imag() * b.real();
            }
            if (!(re * re + im * im <= tolerance * tolerance)) return false;
        }
    return true;
}

}  // namespace

// Looks at `count` matrices [size, size] that stand one behind the other; an entry of a diagonal matrix must have modulus 1
// within `modulus`. Writes the class of each entry, `zero` or `other`, and the kind of each matrix.
QX_EXPORT(matrices_classify, (const Complex* matrices, Int count, Int size, double tolerance, double modulus, Int zero,
                              Int other, std::uint8_t* classes, std::uint8_t* kinds)) {
    for (Int k = 0; k < count; ++k) {
        const Complex* matrix = matrices + k * size * size;
        bool beside = false,
             off = false;  // whether an entry beside the diagonal is not 0, and one on it has another modulus
        for (Int at = 0; at < size * size; ++at) {
            bool is_zero = matrix[at] == Complex();
            classes[k * size * size + at] = static_cast<std::uint8_t>(is_zero ? zero : other);
            if (at % (size + 1)) {
                beside = beside || !is_zero;
            } else {
                off = off || !(std::fabs(std::hypot(matrix[at].real(), matrix[at].imag()) - 1) <= modulus);
            }
        }
        bool right = is_unitary(matrix, size, tolerance) && (beside || !off);
        kinds[k] = right ? (beside ? general : diagonal) : wrong;
    }
    return 0;
}
