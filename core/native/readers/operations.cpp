// Many gates become operations, which are named tuples of Python: qsim_ex.circuit.ops.Op. qsim_ex.circuit.many calls this.

#include <algorithm>
#include <vector>

#include "base/export.hpp"
#include "readers/python.hpp"
#include "readers/read_gates.hpp"

namespace {

using qx::Int;
using qx::plan::Mask;
using qx::plan::unit;
using qx::python::call;
using qx::python::Object;
using qx::python::put;

constexpr Int fields = 7, mixes = 0, reads = 1, when = 2, operand = 4;  // of an operation
constexpr Int not_yet = -1, own = -2, as_they_are = -3;                   // for the place of a row's operands

// A row of the gate table. qubits, parameters: how many a gate has. size: of its operands. shared: where these are, if all
// gates of the row share them.
struct Row {
    Int qubits, parameters, size, shared;
};

// Gates: number numbers[k] of `keys` (read_gates.hpp) is gate k. on_arguments: whether there are operations for each row,
// on wires 0, 1, …, that are moved to the wires of a key; else there are operations for each key, where they belong.
//
// size: of all operands so far, and then with these. touched: gets the mask of the wires of keys. For each row there are
// the places of the operands of its gates, if these have their own, offsets[begins[row]] to offsets[begins[row + 1]], and
// behind one another, from given[given_begins[row]] on, their parameters. counts: gets how many gates each row has.
struct Gates {
    Row* rows;
    Int num_rows;
    const std::uint64_t* keys;
    Int num_keys;
    const qx::plan::Index* numbers;
    Int count;
    const double* parameters;
    Int on_arguments, num_qubits, size, touched;
    Int *offsets, *begins;
    double* given;
    Int *given_begins, *counts;
};

Int row_of(std::uint64_t key) { return static_cast<Int>(key & 255); }

// What makes named tuples of Python, from empty ones: to call their type would make two other tuples on the way.
struct Maker {
    Object *op, *when, *always;
    qx::python::Allocate new_op, new_when;

    Maker(Object* op, Object* when, Object* always)
        : op(op), when(when), always(always), new_op(allocate_of(op)), new_when(allocate_of(when)) {}

    static qx::python::Allocate allocate_of(Object* type) {
        return reinterpret_cast<qx::python::Allocate>(call.slot(type, qx::python::allocate_slot));
    }
    // Returns a named tuple that is filled; null stays null.
    static Object* whole(Object* made) {
        if (made) call.untrack(made);  // what it holds can be part of no cycle, and circuits have many
        return made;
    }
};

// The wires of a key.
struct Wires {
    Int at[qx::most_wires_of_a_gate] = {}, count = 0;
    Mask mask = 0;

    explicit Wires(std::uint64_t key) {
        for (key >>= 8; key; key >>= 14) at[count++] = static_cast<Int>(key & qx::most_wires) - 1;
    }
    // Returns whether they are different wires of a circuit, as many as a gate has.
    bool are_right(Int qubits, Int num_qubits) {
        for (Int k = 0; k < count; ++k) {
            if (at[k] >= num_qubits || mask & unit(static_cast<int>(at[k]))) return false;
            mask |= unit(static_cast<int>(at[k]));
        }
        return count == qubits;
    }
    // Returns a mask of arguments as one of wires.
    Int moved(Int arguments) const {
        Mask found = 0;
        for (Int k = 0; k < count; ++k)
            if (arguments >> k & 1) found |= unit(static_cast<int>(at[k]));
        return static_cast<Int>(found);
    }
};

// An operation of a gate, which counts its operands from 0; `values` belong to it.
struct Part {
    Object* values[fields] = {};
    Int at = 0;

    // Takes an operation's values; those with wires are moved, if there are wires. Returns false after an exception.
    bool take(Object* op, const Wires* wires, const Maker& maker) {
        for (Int field = 0; field < fields; ++field) {
            Object* value = call.tuple_item(op, field);
            if (wires && field <= reads) {
                values[field] = tuple_on(value, *wires, field == mixes);
                if (!values[field]) return false;
            } else if (wires && field == when) {
                if (!(values[field] = when_on(value, *wires, maker))) return false;
            } else {
                call.increase(values[field] = value);
            }
        }
        at = call.integer(values[operand]);
        return true;
    }

    // Makes the operation whose operands begin at a place; returns null after an exception.
    Object* operation(Int place, const Maker& maker) const {
        Object* made = maker.new_op(maker.op, fields);
        if (!made) return nullptr;
        for (Int field = 0; field < fields; ++field) {
            Object* value = field == operand ? call.new_integer(place + at) : values[field];
            if (field != operand) call.increase(value);
            if (!put(made, field, value)) return call.decrease(made), nullptr;
        }
        return maker.whole(made);
    }

    void drop() {
        for (Object*& value : values)
            if (value) call.decrease(value), value = nullptr;
    }

  private:
    static Object* tuple_on(Object* arguments, const Wires& wires, bool single) {
        Int size = call.tuple_size(arguments);
        Object* made = call.new_tuple(size);
        for (Int k = 0; made && k < size; ++k) {
            Int argument = qx::python::integer(arguments, k);
            if (!put(made, k, call.new_integer(single ? wires.at[argument] : wires.moved(argument))))
                return call.decrease(made), nullptr;
        }
        return made;
    }
    static Object* when_on(Object* condition, const Wires& wires, const Maker& maker) {
        if (!qx::python::integer(condition, 0)) return call.increase(maker.always), maker.always;
        Object* made = maker.new_when(maker.when, 2);
        if (!made) return nullptr;
        for (Int k = 0; k < 2; ++k)
            if (!put(made, k, call.new_integer(wires.moved(qx::python::integer(condition, k)))))
                return call.decrease(made), nullptr;
        return maker.whole(made);
    }
};

// A gate on wires. shared: its operations, if all gates of its row share their operands, once one was appended.
struct Gate {
    std::vector<Part> parts;
    std::vector<Object*> shared;
    bool known = false;

    bool read(Object* ops, const Wires* wires, const Maker& maker) {
        known = true;
        parts.resize(static_cast<std::size_t>(call.tuple_size(ops)));
        for (std::size_t k = 0; k < parts.size(); ++k)
            if (!parts[k].take(call.tuple_item(ops, static_cast<Int>(k)), wires, maker)) return false;
        return true;
    }
    bool append(Object* list, Int place, const Maker& maker) const {
        for (const Part& part : parts) {
            Object* made = part.operation(place, maker);
            const bool appended = made && !call.append(list, made);
            if (made) call.decrease(made);
            if (!appended) return false;
        }
        return true;
    }
    bool append_shared(Object* list, Int place, const Maker& maker) {
        for (std::size_t k = 0; k < parts.size(); ++k) {
            if (k == shared.size()) {
                shared.push_back(nullptr);  // there is room for a reference before there is one
                shared[k] = parts[k].operation(place, maker);
                if (!shared[k]) return false;
            }
            if (call.append(list, shared[k])) return false;
        }
        return true;
    }
    void drop() {
        for (Part& part : parts) part.drop();
        for (Object* op : shared)
            if (op) call.decrease(op);
    }
};

bool append_as_they_are(Object* list, Object* ops) {
    for (Int k = 0; k < call.tuple_size(ops); ++k)
        if (call.append(list, call.tuple_item(ops, k))) return false;
    return true;
}

bool append_all(Object* list, Object* ops, Gates& gates, const Maker& maker, std::vector<Gate>& known) {
    for (Int k = 0; k < gates.count; ++k) {
        const std::uint64_t key = gates.keys[gates.numbers[k]];
        Row& row = gates.rows[row_of(key)];
        Gate& gate = known[gates.numbers[k]];
        const Int place = gates.on_arguments ? row_of(key) : static_cast<Int>(gates.numbers[k]);
        if (row.shared == as_they_are) {
            if (!append_as_they_are(list, call.tuple_item(ops, place))) return false;
            continue;
        }
        if (!gate.known) {
            const Wires wires(key);
            if (!gate.read(call.tuple_item(ops, place), gates.on_arguments ? &wires : nullptr, maker)) return false;
        }
        const bool first = row.shared == not_yet, new_operands = first || row.shared == own;
        if (first) row.shared = gates.size;
        const bool right =
            row.shared == own ? gate.append(list, gates.size, maker) : gate.append_shared(list, row.shared, maker);
        if (!right) return false;
        if (new_operands) gates.size += row.size;
    }
    return true;
}

// Writes the places and the parameters of gates with operands of their own, row by row.
void group(const Gates& gates, Int size) {
    std::vector<Int> next(static_cast<std::size_t>(gates.num_rows)), given_next(next);
    std::fill_n(gates.counts, gates.num_rows, Int{0});
    for (Int k = 0; k < gates.count; ++k) ++gates.counts[row_of(gates.keys[gates.numbers[k]])];
    gates.begins[0] = gates.given_begins[0] = 0;
    for (std::size_t row = 0; row < next.size(); ++row) {
        const Int count = gates.rows[row].shared == own ? gates.counts[row] : 0;
        next[row] = gates.begins[row];
        given_next[row] = gates.given_begins[row];
        gates.begins[row + 1] = next[row] + count;
        gates.given_begins[row + 1] = given_next[row] + count * gates.rows[row].parameters;
    }
    const double* parameters = gates.parameters;
    for (Int k = 0; k < gates.count; ++k) {
        const auto row = static_cast<std::size_t>(row_of(gates.keys[gates.numbers[k]]));
        const Row& of = gates.rows[row];
        if (of.shared != own) {
            size += of.shared == size ? of.size : 0;
            continue;
        }
        gates.offsets[next[row]++] = size;
        size += of.size;
        for (Int j = 0; j < of.parameters; ++j) gates.given[given_next[row]++] = *parameters++;
    }
}

// See `operations_append`.
Int append(Object* list, Object* ops, Gates& gates, const Maker& maker) {
    Mask touched = 0;
    for (Int k = 0; gates.on_arguments && k < gates.num_keys; ++k) {
        Wires wires(gates.keys[k]);
        if (!wires.are_right(gates.rows[row_of(gates.keys[k])].qubits, gates.num_qubits)) return 1;
        touched |= wires.mask;
    }
    gates.touched = static_cast<Int>(touched);
    std::vector<Gate> known(static_cast<std::size_t>(gates.num_keys));
    const Int size = gates.size;
    {
        const auto drop = [&] {
            for (Gate& gate : known) gate.drop();
        };
        const qx::Undo dropping(drop);
        if (!append_all(list, ops, gates, maker, known)) return -1;
    }
    group(gates, size);
    return 0;
}

}  // namespace

// Appends the operations of gates to a list. ops: tuples of operations that count their operands from 0. Returns -1 after an
// exception, and 1, having appended nothing, if the wires of a key are none of a circuit's.
QX_EXPORT(operations_append, (Object* list, Object* op_type, Object* when_type, Object* always, Object* ops, Gates* gates)) {
    return qx::guarded([&] { return append(list, ops, *gates, {op_type, when_type, always}); });
}
