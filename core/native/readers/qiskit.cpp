// The gates, measurements and barriers of a circuit of Qiskit, read through Qiskit's C interface:
// qsim_ex.frameworks.qiskit_reader has its functions.

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

}  // namespace

// Reads the first `count` instructions. names, ends: of Qiskit's gates that have rows, one behind the other. Returns -1
// where a parameter is no finite real number, and for wires that are too many.
QX_EXPORT(qiskit_gates, (const void* circuit, Int count, const Int* functions, const char* names, const Int* ends,
                         Int num_names, qx::Arrays* out)) {
    return qx::guarded(
        [&] { return read(circuit, count, *reinterpret_cast<const Functions*>(functions), names, ends, num_names, *out); });
}
