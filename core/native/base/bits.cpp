// Bits of many numbers: qsim_ex.placement.index_bits.

#include <bit>

#include "base/export.hpp"

using qx::Int;

// Writes for each value, none negative, the union of masks[k] for every bit k that is set in it.
QX_EXPORT(bits_spread, (const Int* values, Int size, const Int* masks, Int count, Int* out)) {
    constexpr Int byte_values = 256, most_bytes = 8;
    Int tables[most_bytes][byte_values];  // the union for each value of a byte
    const Int bytes = (count + 7) / 8;
    for (Int byte = 0; byte < bytes; ++byte) {
        Int* table = tables[byte];
        table[0] = 0;
        for (Int bit = 0; bit < 8; ++bit) {
            const Int number = 8 * byte + bit, mask = number < count ? masks[number] : 0;
            for (Int x = 0; x < Int{1} << bit; ++x) table[(Int{1} << bit) + x] = table[x] | mask;
        }
    }
    for (Int k = 0; k < size; ++k) {
        Int found = 0;
        for (Int byte = 0; byte < bytes; ++byte) found |= tables[byte][values[k] >> 8 * byte & (byte_values - 1)];
        out[k] = found;
    }
    return 0;
}

// Writes numbers in the order of their places with some bits flipped.
QX_EXPORT(bits_flip, (const double* values, Int size, Int flip, double* out)) {
    for (Int k = 0; k < size; ++k) out[k] = values[k ^ flip];
    return 0;
}
