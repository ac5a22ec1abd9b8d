// Tests of what is read of Cirq's operations, whose place some objects in memory take.

#include <doctest.h>

#include <cmath>

#include "readers/python.test.hpp"
#include "readers/read_gates.test.hpp"

using qx::Int;
using qx::plan::Index;
using qx::python::Object;
using qx::python::fake::Heap;

extern "C" Int qx_cirq_gates(Object* operations, Int count, const Int* types, Int num_types, Object* gate, Object* qubits,
                             const void* rules, Int num_rules, const void* cases, const Int* num_wires, Object* distinct,
                             qx::Arrays* out);

namespace {

Int address(const void* of) { return reinterpret_cast<Int>(of); }

// Classes of gates: a power of Z with an exponent and a shift, which is row 0 (z) for exponent 1 and row 1 (a rotation by
// π times the exponent) for others; and of CX, row 2, which has no attributes.
struct Circuit {
    Heap heap;
    Object *gate = heap.text("gate"), *qubits = heap.text("qubits"), *exponent = heap.text("exponent"),
           *shift = heap.text("shift");
    Object *operation = heap.add({}), *other = heap.add({}), *z_power = heap.add({}), *cx = heap.add({});
    std::vector<Object*> wires{heap.add({}), heap.add({}), heap.add({})};
    Object *operations = heap.tuple({}), *distinct = heap.tuple({});

    Object* power(double of, double by = 0, const char* text = "") {
        Object *e = heap.add({nullptr, of, text}), *s = heap.add({nullptr, by});
        return heap.add({z_power, 0, "", {}, {{exponent, e}, {shift, s}}});
    }
    void add(Object* its, std::vector<Object*> on, Object* type = nullptr) {
        Object* made = heap.add({type ? type : operation, 0, "", {}, {{gate, its}, {qubits, heap.tuple(std::move(on))}}});
        operations->items.push_back(made);
    }
};

struct Read : qx::FoundGates {
    explicit Read(Circuit& of) : FoundGates(of.operations->items.size()) {
        const double any = NAN;
        const double cases[][6] = {
            {1, 0, 0, 0, 0, 0}, {any, 0, 1, 1, M_PI, 0}, {any, any, -1, 0, 0, 0}, {any, any, 2, 0, 0, 0}};
        const Int rules[][9] = {{address(of.z_power), 2, address(of.exponent), address(of.shift), 0, 0, 0, 0, 3},
                                {address(of.cx), 0, 0, 0, 0, 0, 0, 3, 4}};
        const Int types[] = {address(of.operation)}, num_wires[] = {1, 1, 2};
        status = qx_cirq_gates(of.operations, static_cast<Int>(numbers.size()), types, 1, of.gate, of.qubits, rules, 2,
                               cases, num_wires, of.distinct, &arrays);
    }
};

}  // namespace

TEST_CASE("operations are the rows of their gates' first fitting cases, on qubits numbered as they come") {
    Circuit of;
    Object *z = of.power(1), *cx = of.heap.add({of.cx});
    of.add(z, {of.wires[2]});
    of.add(of.power(0.5), {of.wires[0]});
    of.add(cx, {of.wires[0], of.wires[2]});
    of.add(z, {of.wires[2]});
    const Read found(of);
    CHECK(found.status == 0);
    REQUIRE(found.arrays.num_keys == 3);
    CHECK(found.keys[0] == (0 | qx::on_wire(0, 0)));
    CHECK(found.keys[1] == (1 | qx::on_wire(1, 0)));
    CHECK(found.keys[2] == (2 | qx::on_wire(1, 0) | qx::on_wire(0, 1)));
    CHECK(found.numbers == std::vector<Index>{0, 1, 2, 0});
    CHECK(found.starts == std::vector<Int>{0, 0, 1, 1, 1});
    CHECK(found.parameters[0] == doctest::Approx(M_PI / 2));
    CHECK(of.distinct->items == std::vector<Object*>{of.wires[2], of.wires[0]});
    for (Object* one : of.distinct->items) --one->references;  // the list's
    CHECK(of.heap.is_balanced());
}

TEST_CASE("operations of other classes, symbols, gates without a row and gates on other wires are left to Python") {
    Circuit of;
    of.add(of.power(1), {of.wires[0]}, of.other);
    of.add(of.power(0.5, 0, "symbol"), {of.wires[0]});
    of.add(of.power(0.5, 0.25), {of.wires[0]});
    of.add(of.power(1), {of.wires[0], of.wires[1]});
    of.add(of.heap.add({of.other}), {of.wires[0]});
    const Read found(of);
    CHECK(found.status == 0);
    CHECK(found.arrays.num_keys == 0);
    REQUIRE(found.arrays.num_others == 5);
    for (std::size_t k = 0; k < 5; ++k) {
        CHECK(found.others[k] == static_cast<Int>(k));
        CHECK(found.other_wires[k] == (k == 3 ? qx::on_wire(0, 0) | qx::on_wire(1, 1) : qx::on_wire(0, 0)));
    }
    CHECK_FALSE(qx::python::fake::raised);
}

TEST_CASE("operations on no qubit, or on more than a key has room for, are left to Python without their qubits") {
    Circuit of;
    const std::vector<Object*>& w = of.wires;
    of.add(of.heap.add({of.cx}), {});
    of.add(of.heap.add({of.cx}), {w[0], w[1], w[2], of.heap.add({}), of.heap.add({})});
    of.add(of.power(1), {w[2]});
    const Read found(of);
    CHECK(found.status == 0);
    REQUIRE(found.arrays.num_others == 2);
    for (std::size_t k = 0; k < 2; ++k) {
        CHECK(found.others[k] == static_cast<Int>(k));
        CHECK(found.other_wires[k] == 0);
    }
    CHECK(of.distinct->items.size() == 5);
    REQUIRE(found.arrays.num_keys == 1);
    CHECK(found.keys[0] == qx::on_wire(2, 0));
}

TEST_CASE("an exception that an operation raises ends the reading") {
    Circuit of;
    of.add(of.power(1), {of.wires[0]});
    of.operations->items[0]->attributes.erase(of.qubits);
    CHECK(Read(of).status == -1);
}
