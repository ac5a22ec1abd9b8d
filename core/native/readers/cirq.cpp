// The gates of a circuit of Cirq, read from its operations, which are objects of Python: qsim_ex.frameworks.cirq_reader
// has the rules.

#include <utility>
#include <vector>

#include "base/export.hpp"
#include "readers/python.hpp"
#include "readers/read_gates.hpp"

namespace {

using qx::Int;
using qx::plan::Index;
using qx::plan::Memo;
using qx::python::call;
using qx::python::Object;

constexpr Int most_numbers = 5;
constexpr Int attributes_themselves = -1;  // for a number of scales

// How the gates of one class are read. attributes: the names of those that are numbers. begin, end: of its cases.
struct Rule {
    Int type, num_attributes, attributes[most_numbers], begin, end;
};

// The gates of a class with this exponent and this shift, which are its first two attributes; NaN stands for any. row:
// what they are, or -1. Their parameters are the exponent times each scale.
struct Case {
    double exponent, shift, row, num_scales, scales[2];

    bool has(const double* numbers) const { return fits(exponent, numbers[0]) && fits(shift, numbers[1]); }
    static bool fits(double wanted, double number) { return wanted != wanted || wanted == number; }
};

// What a gate is. row: none if Python has to look at it.
struct Gate {
    static constexpr Index none = ~Index{0};
    Index row = none;
    Int num_parameters = 0;
    double parameters[most_numbers] = {};
};

std::uint64_t address(Object* object) { return reinterpret_cast<std::uint64_t>(object); }

// Returns an object that others hold, so that no reference is needed.
Object* held(Object* object) {
    if (object) call.decrease(object);
    return object;
}

Int type_of(Object* object) { return static_cast<Int>(address(held(call.type(object)))); }

// Reads the numbers of a gate; returns whether all are finite. A symbol is no number: Python says so, with its place.
bool read_numbers(Object* gate, const Rule& rule, double* out) {
    for (Int k = 0; k < rule.num_attributes; ++k) {
        Object* value = call.attribute(gate, reinterpret_cast<Object*>(rule.attributes[k]));
        if (value) out[k] = call.real(value);
        held(value);
        if (call.error()) return call.clear(), false;
        if (!qx::is_finite(out[k])) return false;
    }
    return true;
}

Gate read(Object* gate, const Rule* rule, const Rule* end, const Case* cases) {
    for (Int type = type_of(gate); rule < end && rule->type != type;) ++rule;
    double numbers[most_numbers] = {};
    if (rule == end || !read_numbers(gate, *rule, numbers)) return {};
    const Case* found = cases + rule->begin;
    while (found < cases + rule->end && !found->has(numbers)) ++found;
    if (found == cases + rule->end || found->row < 0) return {};
    Gate made{static_cast<Index>(found->row), static_cast<Int>(found->num_scales)};
    bool themselves = made.num_parameters == attributes_themselves;
    if (themselves) made.num_parameters = rule->num_attributes;
    for (Int k = 0; k < made.num_parameters; ++k)
        made.parameters[k] = themselves ? numbers[k] : found->scales[k] * numbers[0];
    return made;
}

// The qubits of a circuit, numbered in the order in which they come.
class Qubits {
  public:
    explicit Qubits(Object* list) : list_(list) {}

    // Puts an operation's qubits into a key; returns how many there are, or -1 after an exception.
    Int put(Object* qubits, std::uint64_t& key) {
        Int count = call.tuple_size(qubits);
        for (Int k = 0; k < count; ++k) {
            Object* qubit = call.tuple_item(qubits, k);
            Index& number = known_[address(qubit)];
            if (number == Memo::none) {
                number = size_++;
                if (call.append(list_, qubit)) return -1;
            }
            if (k < qx::most_wires_of_a_gate) key |= qx::on_wire(number, k);
        }
        return count;
    }
    Index size() const { return size_; }

  private:
    Object* list_;
    Memo known_;
    Index size_ = 0;
};

}  // namespace

// Reads a list of operations. Those of a class in `types` are gates, if their gate's class has a rule with a case for it.
//
// gate, qubits: the names of these attributes of an operation. num_wires: of each row. distinct: gets the qubits, each
// once, whose places are the wires in keys. Returns -1 after an exception, and 1 if there are too many qubits.
QX_EXPORT(cirq_gates,
          (Object* operations, Int count, const Int* types, Int num_types, Object* gate, Object* qubits, const Rule* rules,
           Int num_rules, const Case* cases, const Int* num_wires, Object* distinct, qx::Arrays* out)) {
    return qx::guarded([&] {
        qx::GateWriter write(*out);
        Qubits numbered(distinct);
        Memo known;  // gates, by their addresses: the operations hold them
        std::vector<Gate> gates;
        Object* on = nullptr;
        const auto give_back = [&] { held(std::exchange(on, nullptr)); };
        const qx::Undo end(give_back);
        for (Int k = 0; k < count; ++k) {
            Object* operation = call.list_item(operations, k);
            on = call.attribute(operation, qubits);
            std::uint64_t key = 0;
            Int size = on ? numbered.put(on, key) : -1;
            give_back();
            if (size < 0) return -1;
            if (numbered.size() > qx::most_wires) return 1;
            const std::uint64_t wires = size <= qx::most_wires_of_a_gate ? key : 0;
            Int type = type_of(operation), of = 0;
            while (of < num_types && types[of] != type) ++of;
            if (of == num_types) {
                write.other(wires);
                continue;
            }
            Object* its = held(call.attribute(operation, gate));
            if (!its) return -1;
            Index& number = known[address(its)];
            if (number == Memo::none) {
                number = static_cast<Index>(gates.size());
                gates.push_back(read(its, rules, rules + num_rules, cases));
            }
            const Gate& found = gates[number];
            if (found.row == Gate::none || num_wires[found.row] != size) {
                write.other(wires);
                continue;
            }
            for (Int j = 0; j < found.num_parameters; ++j) write.parameter(found.parameters[j]);
            write.gate(key | found.row);
        }
        return 0;
    });
}
