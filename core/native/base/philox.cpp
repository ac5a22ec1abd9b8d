#include "base/philox.hpp"

#include "base/export.hpp"
#include "base/ranges.hpp"

using qx::Int;

// Writes `count` numbers in [0, 1) of the generator with key (seeds[row], keys[row]) to each row of `out`, from block
// `begin` of its counter on; a block has four.
QX_EXPORT(philox_fill, (const std::uint64_t* seeds, const std::uint64_t* keys, Int begin, double* out, Int count, Int size,
                        Int each, Int chunk, Int threads, Int slice)) {
    return qx::in_ranges({size, each, chunk, threads, slice}, [=](Int first, Int last) {
        for (Int row = first; row < last; ++row)
            for (Int at = 0; at < count; at += 4) {
                const auto block = static_cast<std::uint64_t>(begin + at / 4);
                const qx::Four four = qx::philox(seeds[row], keys[row], block);
                for (Int k = 0; k < 4 && at + k < count; ++k) out[row * count + at + k] = qx::unit(four.x[k]);
            }
    });
}
