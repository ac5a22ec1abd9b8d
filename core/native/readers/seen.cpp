// Which gates at the end of a circuit are seen by what is asked of populations, as qsim_ex.program.seen says.

#include "base/export.hpp"
#include "readers/op_masks.hpp"

namespace {

using namespace qx::plan;
using qx::Int;
using qx::python::call;
using qx::python::Object;

// The types of gates, and what they are asked for: `acts_on` is the name of a permutation's mask of wires. units: the mask
// of the classes of entries that move basis states, with a phase.
struct Types {
    Object *op, *permutation, *acts_on;
    Int units;
};

// The wires of a gate, and whether it moves basis states, with a phase.
struct Gate {
    qx::python::OpMasks wires;
    bool unitary = false, moves = true;

    Gate(Object* of, const Types& types) {
        Object* own = call.type(of);
        call.decrease(own);
        if (own == types.op) {
            unitary = qx::python::integer(of, 6);
            wires = qx::python::masks_of(of);
            Object* pattern = call.tuple_item(of, 3);
            const char* entries = call.bytes(pattern);
            for (Int k = call.bytes_size(pattern); k-- > 0;) moves = moves && types.units >> entries[k] & 1;
        } else if (own == types.permutation) {
            unitary = true;
            Object* mask = call.attribute(of, types.acts_on);
            wires.mixed = wires.acted = static_cast<Mask>(call.integer(mask));
            call.decrease(mask);
        }
    }
};

// Goes through gates from the end. unseen: mask of the wires of which nothing is asked from here on. turned: of those of
// which more is asked than populations.
struct Ends {
    Mask unseen, turned = 0;

    // Returns whether a gate is seen; then more may be asked of its wires before it.
    bool sees(const Gate& gate) {
        const auto [mixed, acted] = gate.wires;
        const Mask on_turned = acted & turned;
        if (acted && on_turned == acted) return true;  // it changes nothing else
        if (!on_turned && !(mixed & ~unseen)) return false;
        if (on_turned || !gate.moves) turned |= mixed;
        unseen &= ~acted;
        return true;
    }
};

}  // namespace

// Goes through the first `count` of some instructions from the last one, until one is no unitary gate, or more than
// populations is asked of all wires, whose mask is `every`. Writes for each whether it is seen, and returns the place of the
// earliest; all before it are left.
QX_EXPORT(structure_seen, (Object* instructions, Object* op_type, Object* permutation_type, Object* acts_on, Int count,
                           Int units, Int unseen, Int every, char* seen)) {
    const Types types{op_type, permutation_type, acts_on, units};
    Ends ends{static_cast<Mask>(unseen)};
    while (count && ends.turned != static_cast<Mask>(every)) {
        const Gate gate(call.tuple_item(instructions, count - 1), types);
        if (!gate.unitary) break;
        seen[--count] = ends.sees(gate);
    }
    return count;
}
