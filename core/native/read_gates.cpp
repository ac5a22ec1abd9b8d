#include "read_gates.hpp"

using qx::Int;

// Writes keys with other wires: wire w becomes to[w].
QX_EXPORT(keys_moved)(const std::uint64_t* keys, Int count, const Int* to, std::uint64_t* out) {
    for (Int k = 0; k < count; ++k) {
        std::uint64_t rest = keys[k] >> 8;
        out[k] = keys[k] & 255;
        for (Int place = 0; rest; ++place, rest >>= 14)
            if (const auto wire = static_cast<Int>(rest & qx::most_wires) - 1; wire >= 0)
                out[k] |= qx::on_wire(static_cast<qx::plan::Index>(to[wire]), place);
    }
    return 0;
}
