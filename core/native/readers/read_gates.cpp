#include "readers/read_gates.hpp"

#include "base/export.hpp"
#include "readers/python.hpp"

using qx::Int;
using qx::python::call;
using qx::python::Object;

namespace {

// Returns the wires of a key as a tuple, null after an exception.
Object* tuple_of(std::uint64_t wires) {
    Int size = 0;
    for (std::uint64_t rest = wires; rest; rest >>= 14) ++size;
    Object* made = call.new_tuple(size);
    for (Int place = 0; made && place < size; ++place, wires >>= 14) {
        Object* wire = call.new_integer(static_cast<Int>(wires & qx::most_wires) - 1);
        if (!qx::python::put(made, place, wire)) return call.decrease(made), nullptr;
    }
    return made;
}

}  // namespace

// Writes keys with other wires: wire w becomes to[w].
QX_EXPORT(keys_moved, (const std::uint64_t* keys, Int count, const Int* to, std::uint64_t* out)) {
    for (Int k = 0; k < count; ++k) {
        std::uint64_t rest = keys[k] >> 8;
        out[k] = keys[k] & 255;
        for (Int place = 0; rest; ++place, rest >>= 14)
            if (const auto wire = static_cast<Int>(rest & qx::most_wires) - 1; wire >= 0)
                out[k] |= qx::on_wire(static_cast<qx::plan::Index>(to[wire]), place);
    }
    return 0;
}

// Appends the wires of each key to a list, as a tuple; keys with equal wires get the same one. Returns -1 after an
// exception.
QX_EXPORT(keys_wires, (const std::uint64_t* keys, Int count, Object* list)) {
    return qx::guarded([&] {
        qx::plan::Memo known;
        qx::python::References tuples;
        for (Int k = 0; k < count; ++k) {
            qx::plan::Index& number = known[keys[k] >> 8];
            if (number == qx::plan::Memo::none) {
                if (!tuples.keep([&] { return tuple_of(keys[k] >> 8); })) return -1;
                number = static_cast<qx::plan::Index>(tuples.size() - 1);
            }
            if (call.append(list, tuples[number])) return -1;
        }
        return 0;
    });
}
