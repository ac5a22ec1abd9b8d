// Tests of what is read through Qiskit's C interface, of which some instructions in memory take the place.

#include <doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "readers/read_gates.test.hpp"

using qx::Int;
using qx::plan::Index;

extern "C" Int qx_qiskit_gates(const void* circuit, Int count, const Int* functions, const char* names, const Int* ends,
                               Int num_names, qx::Arrays* out);
extern "C" Int qx_qiskit_same(const void* circuit, Int count, const Int* functions, const char* names, const Int* ends,
                              const Index* numbers, const std::uint64_t* keys, const double* parameters, Int num_parameters,
                              const Int* measured, Int num_measured);

namespace {

struct Parameter {
    std::uint8_t kind;
    double value;
};

// An instruction. kind: 0 of a standard gate, 1 a barrier, 3 a measurement, others for all else.
struct Instruction {
    std::uint8_t kind;
    std::string name;
    std::vector<std::uint32_t> qubits, clbits;
    std::vector<Parameter> parameters;
};
using Circuit = std::vector<Instruction>;

struct View {
    const char* name;
    const std::uint32_t *qubits, *clbits;
    const char* params;
    std::size_t name_len;
    std::uint32_t num_qubits, num_clbits;
    std::size_t num_params;
};

const Instruction& at(const void* circuit, std::size_t place) { return (*static_cast<const Circuit*>(circuit))[place]; }

void view(const void* circuit, std::size_t place, View* out) {
    const Instruction& of = at(circuit, place);
    *out = {of.name.data(),
            of.qubits.data(),
            of.clbits.data(),
            reinterpret_cast<const char*>(of.parameters.data()),
            of.name.size(),
            static_cast<std::uint32_t>(of.qubits.size()),
            static_cast<std::uint32_t>(of.clbits.size()),
            of.parameters.size()};
}
std::uint8_t kind(const void* circuit, std::size_t place) { return at(circuit, place).kind; }
std::uint8_t parameter_kind(const void* of) { return static_cast<const Parameter*>(of)->kind; }
double real(const void* of) { return static_cast<const Parameter*>(of)->value; }

// The gates that have rows: h is row 0, rz row 1, cx row 2.
constexpr char names[] = "hrzcx";
constexpr Int ends[] = {1, 3, 5};

const Int functions[] = {reinterpret_cast<Int>(&view), reinterpret_cast<Int>(&kind), reinterpret_cast<Int>(&parameter_kind),
                         reinterpret_cast<Int>(&real), sizeof(Parameter)};

struct Read : qx::FoundGates {
    explicit Read(const Circuit& circuit) : FoundGates(circuit.size()) {
        status = qx_qiskit_gates(&circuit, static_cast<Int>(circuit.size()), functions, names, ends, 3, &arrays);
    }
};

}  // namespace

TEST_CASE("gates are numbered by row and wires, with their parameters; measurements, barriers and others stand apart") {
    const Read found({{0, "h", {2}, {}, {}},
                      {0, "rz", {2}, {}, {{1, 0.5}}},
                      {0, "cx", {2, 0}, {}, {}},
                      {0, "rz", {2}, {}, {{1, -0.25}}},
                      {1, "barrier", {0, 1}, {}, {}},
                      {3, "measure", {1}, {4}, {}},
                      {0, "unknown", {1, 2}, {}, {}}});
    CHECK(found.status == 0);
    REQUIRE(found.arrays.num_keys == 3);
    CHECK(found.keys[0] == (0 | qx::on_wire(2, 0)));
    CHECK(found.keys[1] == (1 | qx::on_wire(2, 0)));
    CHECK(found.keys[2] == (2 | qx::on_wire(2, 0) | qx::on_wire(0, 1)));
    CHECK(std::vector<Index>(found.numbers.begin(), found.numbers.begin() + 4) == std::vector<Index>{0, 1, 2, 1});
    CHECK(found.starts == std::vector<Int>{0, 0, 1, 1, 2, 2, 2, 2});
    CHECK((found.parameters[0] == 0.5 && found.parameters[1] == -0.25));
    REQUIRE(found.arrays.num_measured == 2);
    CHECK(found.measured[0] == std::array<Int, 3>{4, -1, -1});
    CHECK(found.measured[1] == std::array<Int, 3>{5, 1, 4});
    REQUIRE(found.arrays.num_others == 1);
    CHECK(found.others[0] == 6);
    CHECK(found.other_wires[0] == (qx::on_wire(1, 0) | qx::on_wire(2, 1)));
}

TEST_CASE("what is no finite number, and a wire beyond the keys, are left to Python") {
    CHECK(Read({{0, "rz", {0}, {}, {{2, 0.5}}}}).status == -1);
    CHECK(Read({{0, "rz", {0}, {}, {{1, INFINITY}}}}).status == -1);
    CHECK(Read({{0, "h", {qx::most_wires - 1}, {}, {}}}).status == 0);
    CHECK(Read({{0, "h", {qx::most_wires}, {}, {}}}).status == -1);
    CHECK(Read({{9, "box", {0, 1, 2, 3, 4}, {}, {}}}).other_wires[0] == 0);  // on more wires than a key has
}

namespace {

// Whether another circuit is that of a reading.
bool same(const Read& known, const Circuit& other) {
    return qx_qiskit_same(&other, static_cast<Int>(other.size()), functions, names, ends, known.numbers.data(),
                          known.keys.data(), known.parameters.data(), known.starts.back(), known.measured[0].data(),
                          known.arrays.num_measured) != 0;
}

}  // namespace

TEST_CASE("a circuit is that of a reading, and any other is not") {
    const Circuit circuit{{0, "h", {2}, {}, {}},          {0, "rz", {2}, {}, {{1, 0.0}}},  {0, "cx", {2, 0}, {}, {}},
                          {1, "barrier", {0, 1}, {}, {}}, {0, "rz", {0}, {}, {{1, 0.25}}}, {3, "measure", {1}, {4}, {}},
                          {3, "measure", {2}, {3}, {}}};
    const Read known(circuit);
    CHECK(same(known, circuit));
    const std::vector<std::pair<std::size_t, Instruction>> changes{
        {0, {0, "h", {1}, {}, {}}},
        {0, {0, "x", {2}, {}, {}}},
        {0, {0, "hh", {2}, {}, {}}},
        {0, {9, "h", {2}, {}, {}}},
        {0, {1, "barrier", {2}, {}, {}}},
        {0, {3, "measure", {1}, {4}, {}}},
        {0, {0, "h", {2, 1}, {}, {}}},
        {0, {0, "h", {qx::most_wires + 2}, {}, {}}},
        {0, {0, "h", {2, 1, 0, 3, 4}, {}, {}}},
        {1, {0, "rz", {2}, {}, {{1, -0.0}}}},
        {1, {0, "rz", {2}, {}, {{2, 0.0}}}},
        {1, {0, "rz", {2}, {}, {}}},
        {1, {0, "rz", {2}, {}, {{1, 0.0}, {1, 0.25}, {1, 0.25}}}},
        {2, {0, "cx", {0, 2}, {}, {}}},
        {2, {0, "cx", {2}, {}, {}}},
        {3, {0, "h", {0}, {}, {}}},
        {3, {3, "measure", {0}, {0}, {}}},
        {5, {1, "barrier", {1}, {}, {}}},
        {5, {3, "measure", {2}, {4}, {}}},
        {5, {3, "measure", {1}, {3}, {}}},
        {5, {9, "reset", {1}, {}, {}}},
    };
    for (const auto& change : changes) {
        Circuit other = circuit;
        other[change.first] = change.second;
        CAPTURE(change.first);
        CAPTURE(change.second.name);
        CHECK_FALSE(same(known, other));
    }
    Circuit swapped = circuit;
    std::swap(swapped[5], swapped[6]);
    CHECK_FALSE(same(known, swapped));
}
