#include "philox.hpp"

using qx::Int;

// Writes the first `count` numbers in [0, 1) of generators with keys (seed, key) to rows `first` … `last` − 1 of `out`.
QX_EXPORT(philox_fill)(const std::uint64_t* seeds, Int key, double* out, Int count, Int first, Int last) {
    for (Int row = first; row < last; ++row) {
        double* to = out + row * count;
        for (Int at = 0; at < count; at += 4) {
            qx::Four four = qx::philox(seeds[row], static_cast<std::uint64_t>(key), static_cast<std::uint64_t>(at / 4));
            for (Int k = 0; k < 4 && at + k < count; ++k) to[at + k] = qx::unit(four.x[k]);
        }
    }
    return 0;
}
