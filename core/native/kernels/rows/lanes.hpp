// Exchanges of lane bits with row bits: a transposition in registers.
#pragma once

#include "kernels/rows/rows.hpp"

namespace qx::QX_SET {

// The bits of a mask, and which of them is `number`-th.
constexpr int bits_in(int mask) { return __builtin_popcount(static_cast<unsigned>(mask)); }
constexpr int bit_in(int mask, int number) {
    return mask & 1 ? number ? 1 + bit_in(mask >> 1, number - 1) : 0 : 1 + bit_in(mask >> 1, number);
}

// Exchanges the lane bits in a mask, from the k-th on, with the bits of the number of a vector, in registers.
template <class Real, int mask, int near, int k = 0>
QX_INLINE void exchange_in_registers(Vector<Real>* values) {
    if constexpr (k < bits_in(mask)) {
        constexpr int lane = bit_in(mask, k);
        if constexpr (near >> lane & 1) {
#pragma clang loop unroll(full)
            for (int r = 0; r < 1 << bits_in(mask); ++r) {
                if (!(r >> k & 1)) exchange<Real, lane>(values[r], values[r | 1 << k]);
            }
        }
        exchange_in_registers<Real, mask, near, k + 1>(values);
    }
}

// Exchanges the lane bits in a mask with row bits whose offsets are given in the order of lanes.
//
// Vectors are put together out of pieces as they are loaded, which leaves only the lane bits within such a piece to be
// exchanged in registers: loads of pieces need not wait for the units that move lanes.
template <class Real, int mask>
inline void exchange_lanes(Rows<Real> rows, const Half* offsets) {
    constexpr int n = lanes<Real>, count = bits_in(mask), all = 1 << count,
                  near = least_piece / static_cast<int>(sizeof(Real)) - 1;
    constexpr int far = mask & ~near, piece = far ? far & -far : n, pieces = n / piece;  // in lanes
    Int to[all];
#pragma clang loop unroll(full)
    for (int r = 0; r < all; ++r) {
        to[r] = 0;
        for (int k = 0; k < count; ++k) to[r] ^= r >> k & 1 ? offsets[bit_in(mask, k)] : 0;
    }
    // Where piece `p` of the r-th vector comes from, which vector and which of its lanes: far bits of both are exchanged.
    struct Sources {
        int vector[all][pieces] = {}, lane[all][pieces] = {};
        constexpr Sources() {
            for (int r = 0; r < all; ++r)
                for (int p = 0; p < pieces; ++p) {
                    int& from = vector[r][p] = r;
                    int& first = lane[r][p] = p * piece;
                    for (int k = 0; k < count; ++k) {
                        const int bit = bit_in(mask, k);
                        if (!(far >> bit & 1) || (r >> k & 1) == (p * piece >> bit & 1)) continue;
                        from ^= 1 << k, first ^= 1 << bit;
                    }
                }
        }
    };
    constexpr Sources sources;
    rows.each([&](auto place) __attribute__((always_inline)) {
        for (int plane = 0; plane < 2; ++plane, place.base += sizeof(Vector<Real>)) {
            Vector<Real> values[all];
#pragma clang loop unroll(full)
            for (int r = 0; r < all; ++r) {
                const char* from[pieces];
#pragma clang loop unroll(full)
                for (int p = 0; p < pieces; ++p)
                    from[p] = place.at(to[sources.vector[r][p]]) + sources.lane[r][p] * static_cast<int>(sizeof(Real));
                values[r] = joined<Real, n, piece* static_cast<int>(sizeof(Real))>(from);
            }
            exchange_in_registers<Real, mask, near>(values);
#pragma clang loop unroll(full)
            for (int r = 0; r < all; ++r) at<Real>(place.at(to[r])) = values[r];
        }
    });
}

// Exchanges some lane bits, which a mask says when a sweep runs.
template <class Real, int mask = (1 << lane_bits<Real>)-1>
void exchange_lanes_of(Int wanted, const Rows<Real>& rows, const Half* offsets) {
    if (wanted == mask) exchange_lanes<Real, mask>(rows, offsets);
    else if constexpr (mask > 1) exchange_lanes_of<Real, mask - 1>(wanted, rows, offsets);
}

}  // namespace qx::QX_SET
