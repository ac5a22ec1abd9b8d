// The gates, measurements and barriers of a circuit of Qiskit, read through Qiskit's C interface, and whether they are those
// of a reading: qsim_ex.frameworks.qiskit_reader has its functions.

#include <bit>
#include <cstring>

#include "base/export.hpp"
#include "readers/read_gates.hpp"

namespace {

using qx::Int;
using qx::plan::Index;

// What Qiskit writes about an instruction: QkCircuitInstructionView.
struct View {
    const char* name;
    const std::uint32_t* qubits;
    const std::uint32_t* clbits;
    const char* params;
    std::size_t name_len;
    std::uint32_t num_qubits, num_clbits;
    std::size_t num_params;
};

// Functions of Qiskit, and the distance between two parameters, in the order of `_FUNCTIONS` in native_columns.
struct Functions {
    void (*view)(const void* circuit, std::size_t place, View* out);
    std::uint8_t (*instruction_kind)(const void* circuit, std::size_t place);
    std::uint8_t (*param_kind)(const void* param);
    double (*real)(const void* param);
    Int stride;
};

constexpr std::uint8_t standard_gate = 0, barrier = 1, measurement = 3, real_number = 1;

// See `qiskit_gates`.
Int read(const void* circuit, Int count, const Functions& call, const char* names, const Int* ends, Int num_names,
         qx::Arrays& out) {
    qx::plan::Interned rows;
    for (Int k = 0, at = 0; k < num_names; at = ends[k++]) rows.of({names + at, static_cast<std::size_t>(ends[k] - at)});
    qx::GateWriter write(out);
    for (Int k = 0; k < count; ++k) {
        View view;
        call.view(circuit, static_cast<std::size_t>(k), &view);
        Index row = static_cast<Index>(num_names);
        std::uint8_t kind = call.instruction_kind(circuit, static_cast<std::size_t>(k));
        if (kind == barrier) {
            write.measurement(-1, -1);
            continue;
        }
        if (kind == measurement) {
            write.measurement(view.qubits[0], view.clbits[0]);
            continue;
        }
        const bool has_key = view.num_qubits <= qx::most_wires_of_a_gate;
        std::uint64_t wires = 0;
        for (std::uint32_t j = 0; has_key && j < view.num_qubits; ++j) {
            if (view.qubits[j] >= qx::most_wires) return -1;
            wires |= qx::on_wire(view.qubits[j], j);
        }
        if (kind == standard_gate && has_key) row = rows.of({view.name, view.name_len});
        if (row >= num_names) {
            write.other(wires);
            continue;
        }
        for (std::size_t j = 0; j < view.num_params; ++j) {
            const char* param = view.params + static_cast<Int>(j) * call.stride;
            double value = call.param_kind(param) == real_number ? call.real(param) : 0.0 / 0.0;
            if (!qx::is_finite(value)) return -1;
            write.parameter(value);
        }
        write.gate(wires | row);
    }
    return 0;
}

// A reading, as qsim_ex.frameworks.read_gates keeps it, without instructions of other kinds. names, ends: see `read`.
struct Known {
    const char* names;
    const Int* ends;
    const Index* numbers;
    const std::uint64_t* keys;
    const double* parameters;
    Int num_parameters;
    const Int (*measured)[3];
    Int num_measured;
};

// Whether an instruction is the standard gate of a key, with these parameters as the next ones.
bool is_gate(const View& view, std::uint64_t key, const Functions& call, const Known& known, Int at) {
    const auto row = static_cast<Int>(key & 255), begin = row ? known.ends[row - 1] : 0;
    const auto length = static_cast<std::size_t>(known.ends[row] - begin);
    if (view.name_len != length || std::memcmp(view.name, known.names + begin, length)) return false;
    if (view.num_qubits > qx::most_wires_of_a_gate) return false;
    auto rest = key - (key & 255);
    for (std::uint32_t j = 0; j < view.num_qubits; ++j) {
        if (view.qubits[j] >= qx::most_wires) return false;
        rest -= qx::on_wire(view.qubits[j], j);  // exactly 0 at the end, and at no other wires
    }
    if (rest || at + static_cast<Int>(view.num_params) > known.num_parameters) return false;
    for (std::size_t j = 0; j < view.num_params; ++j) {
        const char* param = view.params + static_cast<Int>(j) * call.stride;
        if (call.param_kind(param) != real_number) return false;
        const auto bits = std::bit_cast<std::uint64_t>(call.real(param));  // −0 is another number
        if (bits != std::bit_cast<std::uint64_t>(known.parameters[at + static_cast<Int>(j)])) return false;
    }
    return true;
}

// Whether the first `count` instructions are those of a reading.
bool is_again(const void* circuit, Int count, const Functions& call, const Known& known) {
    Int at = 0, measurements = 0;
    for (Int k = 0; k < count; ++k) {
        View view;
        call.view(circuit, static_cast<std::size_t>(k), &view);
        const std::uint8_t kind = call.instruction_kind(circuit, static_cast<std::size_t>(k));
        if (const Index number = known.numbers[k]; number != ~Index{0}) {
            if (kind != standard_gate || !is_gate(view, known.keys[number], call, known, at)) return false;
            at += static_cast<Int>(view.num_params);
            continue;
        }
        if (measurements == known.num_measured) return false;
        const Int* const one = known.measured[measurements++];
        if (kind == barrier ? one[1] >= 0 : kind != measurement) return false;
        if (kind == measurement && (view.qubits[0] != one[1] || view.clbits[0] != one[2])) return false;
    }
    return at == known.num_parameters && measurements == known.num_measured;
}

}  // namespace

// Returns whether the instructions of a circuit, `count` of them, are those of a reading of as many, which had no others
// than gates with rows, measurements and barriers. functions, names, ends: as of `qiskit_gates`; the others: what that
// wrote.
QX_EXPORT(qiskit_same,
          (const void* circuit, Int count, const Int* functions, const char* names, const Int* ends, const Index* numbers,
           const std::uint64_t* keys, const double* parameters, Int num_parameters, const Int* measured, Int num_measured)) {
    const auto rows = reinterpret_cast<const Int(*)[3]>(measured);
    const Known known{names, ends, numbers, keys, parameters, num_parameters, rows, num_measured};
    return is_again(circuit, count, *reinterpret_cast<const Functions*>(functions), known);
}

// Reads the first `count` instructions. names, ends: of Qiskit's gates that have rows, one behind the other. Returns -1
// where a parameter is no finite real number, and for wires that are too many.
QX_EXPORT(qiskit_gates, (const void* circuit, Int count, const Int* functions, const char* names, const Int* ends,
                         Int num_names, qx::Arrays* out)) {
    return qx::guarded(
        [&] { return read(circuit, count, *reinterpret_cast<const Functions*>(functions), names, ends, num_names, *out); });
}
