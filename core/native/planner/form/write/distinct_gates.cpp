// The distinct ones among gates that are written.

#include <cstring>
#include <vector>

#include "base/export.hpp"
#include "base/interned.hpp"
#include "base/refusal.hpp"
#include "planner/form/write/writer.hpp"

namespace qx::form {
namespace {

// A gate as `writer_write` writes it.
struct Row {
    Int kind, wire;
    Mask mask;
    Int num_conditions;
};

// A gate's conditions and entries begin there.
struct First {
    Int gate, condition, entry;
};

Int num_entries(const Row& gate) {
    if (gate.kind < Gate::matrix) return 0;
    return gate.kind == Gate::phase ? 1 : Int{1} << (2 * count(gate.mask) + count(static_cast<Mask>(gate.wire)));
}

// Appends the bytes of some numbers.
template <class Number>
void append(std::vector<char>& bytes, const Number* from, Int number) {
    const std::size_t begin = bytes.size(), size = sizeof(Number) * static_cast<std::size_t>(number);
    bytes.resize(begin + size);
    std::memcpy(bytes.data() + begin, from, size);
}

// See `distinct_gates`.
Int number_gates(const Row* gates, const Int* others, Int count, const Int* conditions, const Complex* entries,
                 Index* numbers, First* first) {
    plan::Interned known;
    std::vector<char> bytes;
    Int condition = 0, entry = 0;
    for (Int k = 0; k < count; ++k) {
        const Int own = num_entries(gates[k]);
        const std::size_t before = known.size();
        bytes.clear();
        append(bytes, gates + k, 1);
        append(bytes, others + k, 1);
        append(bytes, conditions + 2 * condition, 2 * gates[k].num_conditions);
        append(bytes, entries + entry, own);
        numbers[k] = known.of({bytes.data(), bytes.size()});
        if (known.size() > before) first[before] = {k, condition, entry};
        condition += gates[k].num_conditions, entry += own;
    }
    return static_cast<Int>(known.size());
}

}  // namespace
}  // namespace qx::form

// Writes for each gate which of the distinct ones it is, in the order in which these come, and of each of these the first
// gate and where its conditions and entries begin; returns how many there are. Gates are equal if all numbers of their rows
// are, of their conditions and their entries, and a number that somebody else has given each.
QX_EXPORT(distinct_gates, (const qx::form::Row* gates, const qx::Int* others, qx::Int count, const qx::Int* conditions,
                           const qx::form::Complex* entries, qx::plan::Index* numbers, qx::form::First* first)) {
    return qx::guarded([&] { return number_gates(gates, others, count, conditions, entries, numbers, first); });
}
