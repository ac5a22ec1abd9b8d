// The gates of a circuit of Qiskit, read through Qiskit's C interface: qsim_ex.frameworks.gate_reader has its functions.

#include "plan_interned.hpp"
#include "python.hpp"

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

// Functions of Qiskit, and the distance between two parameters, in the order of `_FUNCTIONS` in gate_reader.
struct Functions {
    void (*view)(const void* circuit, std::size_t place, View* out);
    std::uint8_t (*instruction_kind)(const void* circuit, std::size_t place);
    std::uint8_t (*param_kind)(const void* param);
    double (*real)(const void* param);
    Int stride;
};

constexpr std::uint8_t standard_gate = 0, real_number = 1;
constexpr std::uint32_t most_qubits = 4;  // of a gate that has a row
constexpr Index most_wires = 1 << 14;     // four of them and a row are one key

// Where results go. numbers: of each instruction which key it has. keys: each once; the lowest 8 bits are the row, and 14
// bits for each wire follow, which hold its number and 1. starts [count + 1]: where the parameters of each begin. others:
// the places of the instructions without a row.
struct Out {
    Index* numbers;
    std::uint64_t* keys;
    double* parameters;
    Int* starts;
    Int* others;
    Int num_keys, num_others;
};

bool is_finite(double value) { return value - value == 0; }

}  // namespace

// Reads the first `count` instructions. names, ends: of Qiskit's gates that have rows, one behind the other. out: the
// addresses of arrays, and then where the numbers of keys and of others go. Returns -1 where a parameter is no finite real
// number, and for wires that are too many.
QX_EXPORT(qiskit_gates)(const void* circuit, Int count, const Int* functions, const char* names, const Int* ends,
                        Int num_names, Out* out) {
    const Functions& call = *reinterpret_cast<const Functions*>(functions);
    qx::plan::Interned rows;
    for (Int k = 0, at = 0; k < num_names; at = ends[k++]) rows.of({names + at, static_cast<std::size_t>(ends[k] - at)});
    qx::plan::Memo known;
    Int parameters = 0;
    out->num_keys = out->num_others = 0;
    for (Int k = 0; k < count; ++k) {
        View view;
        call.view(circuit, static_cast<std::size_t>(k), &view);
        Index row = static_cast<Index>(num_names);
        if (call.instruction_kind(circuit, static_cast<std::size_t>(k)) == standard_gate && view.num_qubits <= most_qubits) {
            row = rows.of({view.name, view.name_len});
            if (row > num_names) row = static_cast<Index>(num_names);
        }
        out->starts[k] = parameters;
        if (row == num_names) {
            out->numbers[k] = ~Index{0};
            out->others[out->num_others++] = k;
            continue;
        }
        std::uint64_t key = row;
        for (std::uint32_t j = 0; j < view.num_qubits; ++j) {
            if (view.qubits[j] >= most_wires - 1) return -1;
            key |= static_cast<std::uint64_t>(view.qubits[j] + 1) << (8 + 14 * j);
        }
        Index& number = known[key];
        if (number == qx::plan::Memo::none) {
            number = static_cast<Index>(out->num_keys);
            out->keys[out->num_keys++] = key;
        }
        out->numbers[k] = number;
        for (std::size_t j = 0; j < view.num_params; ++j) {
            const char* param = view.params + static_cast<Int>(j) * call.stride;
            double value = call.param_kind(param) == real_number ? call.real(param) : 0.0 / 0.0;
            if (!is_finite(value)) return -1;
            out->parameters[parameters++] = value;
        }
    }
    out->starts[count] = parameters;
    return 0;
}
