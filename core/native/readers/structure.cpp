// Whether instructions are all of one type, and which wires gates join, as qsim_ex.circuit.structure asks.

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

// Returns whether instructions are all of one type, and are not none.
QX_EXPORT(structure_alike, (Object* instructions, Object* type)) {
    const Int size = call.tuple_size(instructions);
    for (Int k = 0; k < size; ++k) {
        Object* own = call.type(call.tuple_item(instructions, k));
        call.decrease(own);
        if (own != type) return 0;
    }
    return size > 0;
}
