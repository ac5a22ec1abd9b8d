// The wires of an operation of Python: qsim_ex.circuit.ops.Op, a named tuple.
#pragma once

#include "base/masks.hpp"
#include "readers/python.hpp"

namespace qx::python {

// Masks of the wires that an operation mixes, and of those that it acts on.
struct OpMasks {
    plan::Mask mixed = 0, acted = 0;
};

inline OpMasks masks_of(Object* op) {
    Object *mixes = call.tuple_item(op, 0), *reads = call.tuple_item(op, 1);
    OpMasks out;
    for (Int j = call.tuple_size(mixes); j-- > 0;) out.mixed |= plan::unit(static_cast<int>(integer(mixes, j)));
    out.acted = out.mixed | static_cast<plan::Mask>(integer(call.tuple_item(op, 2), 0));
    for (Int j = call.tuple_size(reads); j-- > 0;) out.acted |= static_cast<plan::Mask>(integer(reads, j));
    return out;
}

}  // namespace qx::python
