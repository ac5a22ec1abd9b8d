// Whether instructions are all of one type, which wires gates join, and what operands they read, as
// qsim_ex.circuit.structure asks.

#include <algorithm>

#include "base/export.hpp"
#include "readers/op_masks.hpp"

namespace {

using namespace qx::plan;
using qx::Int;
using qx::python::call;
using qx::python::Object;

constexpr int most_wires = 64;

// Wires that gates have joined, as disjoint masks.
struct Joined {
    Mask groups[most_wires];
    int size = 0;

    void add(Mask acted) {
        for (int k = 0; k < size; ++k)
            if (!(acted & ~groups[k])) return;
        int kept = 0;
        for (int k = 0; k < size; ++k) {
            if (groups[k] & acted) acted |= groups[k];
            else groups[kept++] = groups[k];
        }
        groups[kept++] = acted;
        size = kept;
    }
};

bool is_of(Object* one, Object* type) {
    Object* own = call.type(one);
    call.decrease(own);
    return own == type;
}

}  // namespace

// Looks at the first `count` of some instructions, which are operations; ends with the one after which all wires are mixed
// and joined. Writes the masks of the wires that are mixed and of those that are acted on, and how many groups are joined.
QX_EXPORT(structure_wires, (Object* instructions, Int count, Int num_qubits, Int* out)) {
    Mask every = below(static_cast<int>(num_qubits)), mixed = 0, touched = 0;
    Joined joined;
    for (Int k = 0; k < count; ++k) {
        const auto [own, acted] = qx::python::masks_of(call.tuple_item(instructions, k));
        mixed |= own, touched |= acted;
        if (acted) joined.add(acted);  // a global phase joins nothing
        if (mixed == every && joined.size == 1 && joined.groups[0] == every) break;
    }
    out[0] = static_cast<Int>(mixed), out[1] = static_cast<Int>(touched), out[2] = joined.size;
    return 0;
}

// Returns where the operands end that operations read; other instructions have none. type: of an operation.
QX_EXPORT(structure_operands, (Object* instructions, Object* type)) {
    Int end = 0;
    for (Int k = call.tuple_size(instructions); k-- > 0;) {
        Object* op = call.tuple_item(instructions, k);
        if (!is_of(op, type)) continue;
        const Int entries = call.bytes_size(call.tuple_item(op, 3));
        if (entries) end = std::max(end, qx::python::integer(op, 4) + entries);
    }
    return end;
}

// Returns whether instructions are all of one type, and are not none.
QX_EXPORT(structure_alike, (Object* instructions, Object* type)) {
    const Int size = call.tuple_size(instructions);
    for (Int k = 0; k < size; ++k)
        if (!is_of(call.tuple_item(instructions, k), type)) return 0;
    return size > 0;
}
