// How many instructions are of one type, which wires gates join, how many they are, what operands they read, and a hash, as
// qsim_ex.circuit.structure asks.

#include <algorithm>

#include "base/export.hpp"
#include "readers/known.hpp"
#include "readers/op_masks.hpp"

namespace {

using namespace qx::plan;
using qx::Int;
using qx::python::call;
using qx::python::Object;

constexpr int most_wires = 64;
constexpr Index none = ~Index{0};
constexpr int bits_of_latest = 8;                  // of the number of objects whose hash is kept
constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio

using View = std::basic_string_view<char>;

View text_of(Object* name) {
    Int size = 0;
    const char* data = call.text(name, &size);
    return data ? View{data, static_cast<std::size_t>(size)} : View{};
}

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

bool is_of(Object* one, Object* type) {
    Object* own = call.type(one);
    call.decrease(own);
    return own == type;
}

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

// Counts the first `count` of some instructions, of which operations have names. names: of operations that count as `by`
// says, or not at all where they act on no wire; all others are one. type: of an operation.
QX_EXPORT(structure_counted, (Object* instructions, Int count, Object* type, Object* names, const double* by, double* out)) {
    return qx::guarded([&] {
        Known known;
        const auto number_of = [&](Object* name) {
            const View own = text_of(name);
            Int number = 0;
            while (number < call.tuple_size(names) && text_of(call.tuple_item(names, number)) != own) ++number;
            return static_cast<Index>(number);
        };
        *out = 0;
        for (Int k = 0; k < count; ++k) {
            Object* one = call.tuple_item(instructions, k);
            const Index number = is_of(one, type) ? known(call.tuple_item(one, 5), number_of) : none;
            if (number >= call.tuple_size(names)) *out += 1;
            else if (qx::python::masks_of(one).acted) *out += by[number];
        }
        return Int{0};
    });
}

// Returns where the operands end that operations read; other instructions have none. type: of an operation.
QX_EXPORT(structure_operands, (Object* instructions, Object* type)) {
    Int end = 0;
    for (Int k = call.tuple_size(instructions); k-- > 0;) {
        Object* op = call.tuple_item(instructions, k);
        if (!is_of(op, type)) continue;
        const Int entries = call.bytes_size(call.tuple_item(op, 3));
        if (entries) end = std::max(end, qx::python::integer(op, 4) + entries);
    }
    return end;
}

// Returns how many of some instructions are of one type before the first of another one.
QX_EXPORT(structure_alike, (Object* instructions, Object* type)) {
    const Int size = call.tuple_size(instructions);
    for (Int k = 0; k < size; ++k)
        if (!is_of(call.tuple_item(instructions, k), type)) return k;
    return size;
}

// Returns a hash of the first `count` of some instructions, in order. An object that comes again is hashed once, as a rule.
QX_EXPORT(structure_hash, (Object* instructions, Int count)) {
    struct {
        Object* of = nullptr;
        std::uint64_t hash = 0;
    } latest[1 << bits_of_latest];
    std::uint64_t all = 0;
    for (Int k = 0; k < count; ++k) {
        Object* one = call.tuple_item(instructions, k);
        auto& known = latest[reinterpret_cast<std::uint64_t>(one) * odd >> (64 - bits_of_latest)];
        if (known.of != one) known = {one, static_cast<std::uint64_t>(call.hash(one))};
        all = (all ^ known.hash) * odd;
        all ^= all >> 32;
    }
    return static_cast<Int>(all >> 1);
}
