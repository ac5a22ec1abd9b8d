#include "base/philox.hpp"

#include "base/export.hpp"
#include "base/ranges.hpp"

using qx::Int;

// Writes the first `count` numbers in [0, 1) of generators with keys (seed, key) to rows of `out`.
QX_EXPORT(philox_fill, (const std::uint64_t* seeds, Int key, double* out, Int count, Int size, Int each, Int chunk,
                        Int threads, Int slice)) {
    return qx::in_ranges({size, each, chunk, threads, slice}, [=](Int first, Int last) {
        for (Int row = first; row < last; ++row)
            for (Int at = 0; at < count; at += 4) {
                const auto block = static_cast<std::uint64_t>(at / 4);
                const qx::Four four = qx::philox(seeds[row], static_cast<std::uint64_t>(key), block);
                for (Int k = 0; k < 4 && at + k < count; ++k) out[row * count + at + k] = qx::unit(four.x[k]);
            }
    });
}
