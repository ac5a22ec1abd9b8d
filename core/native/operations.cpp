// Many gates become operations, which are named tuples of Python: qsim_ex.circuit.ops.Op.

#include <vector>

#include "plan_masks.hpp"
#include "python.hpp"

namespace {

using qx::Int;
using qx::python::Object;
using qx::python::call;

constexpr Int fields = 7, operand = 4;  // of an operation

// A gate on wires: its operations, which count their operands from 0, and how many these are.
struct Gate {
    std::vector<Object*> ops;
    std::vector<Int> operands;  // of each operation the first one
    Int size = 0;
};

// Makes an operation like another one, with other operands; returns null after an exception.
Object* moved(Object* op, Int to, Object* type, qx::python::New make) {
    Object *values = call.new_tuple(fields), *arguments = call.new_tuple(1);
    if (!values || !arguments) return nullptr;
    for (Int field = 0; field < fields; ++field) {
        Object* value = field == operand ? call.new_integer(to) : call.tuple_item(op, field);
        if (field != operand) call.increase(value);
        call.set_tuple_item(values, field, value);  // it takes the reference
    }
    call.set_tuple_item(arguments, 0, values);
    Object* made = make(type, arguments, nullptr);
    call.decrease(arguments);
    if (made) call.untrack(made);  // what it holds can be part of no cycle, and circuits have many
    return made;
}

// Reads a gate; one that shares its operands, which begin at `shared`, gets operations that all such gates have. Returns
// false after an exception.
bool read(Object* ops, Int size, Int shared, Object* type, qx::python::New make, Gate& out) {
    out.size = shared < 0 ? size : 0;
    for (Int k = 0, end = call.tuple_size(ops); k < end; ++k) {
        Object* op = call.tuple_item(ops, k);
        Int at = qx::python::integer(op, operand);
        if (shared >= 0 && !(op = moved(op, shared + at, type, make))) return false;
        out.ops.push_back(op);
        out.operands.push_back(at);
    }
    return true;
}

}  // namespace

// Appends the operations of `count` gates to a list: gate k is number numbers[k] of `gates`, which are tuples of operations
// that count their operands from 0.
//
// sizes: of each of these how many operands it has. shared: where they are, if all gates of its kind share them; else -1.
// offsets: where those of gate k are, if it has its own. Returns -1 after an exception.
QX_EXPORT(operations_append)(Object* list, Object* op_type, Object* tuple_type, Object* gates, const Int* sizes,
                             const Int* shared, const qx::plan::Index* numbers, const Int* offsets, Int count) {
    auto make = reinterpret_cast<qx::python::New>(call.slot(tuple_type, qx::python::new_slot));
    std::vector<Gate> known(static_cast<std::size_t>(call.tuple_size(gates)));
    for (std::size_t k = 0; k < known.size(); ++k) {
        Object* ops = call.tuple_item(gates, static_cast<Int>(k));
        if (!read(ops, sizes[k], shared[k], op_type, make, known[k])) return -1;
    }
    for (Int k = 0; k < count; ++k) {
        const Gate& gate = known[numbers[k]];
        for (std::size_t j = 0; j < gate.ops.size(); ++j) {
            Object* made = gate.ops[j];
            if (gate.size && !(made = moved(made, offsets[k] + gate.operands[j], op_type, make))) return -1;
            if (call.append(list, made)) return -1;
            if (gate.size) call.decrease(made);
        }
    }
    for (std::size_t k = 0; k < known.size(); ++k)
        if (shared[k] >= 0)
            for (Object* op : known[k].ops) call.decrease(op);
    return 0;
}
