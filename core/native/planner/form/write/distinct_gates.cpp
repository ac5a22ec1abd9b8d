// The distinct ones among gates that are written.

#include <cmath>
#include <cstring>
#include <numbers>
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

// A gate that is not like one before it, and where its conditions and entries begin.
struct First {
    Row gate;
    Int turn, condition, entry;
};

// Of a phase of a parity by a known multiple of π/4 that multiple, modulo 8; of a gate by π or -π under conditions 1 or -1;
// else 0.
Int turn_of(const Row& gate, double angle, bool varies, double tolerance) {
    constexpr double pi = std::numbers::pi;
    if (varies) return 0;
    if (gate.num_conditions) return std::fabs(std::fabs(angle) - pi) < tolerance ? (angle > 0 ? 1 : -1) : 0;
    if (gate.kind != Gate::rotation || gate.mask) return 0;
    const double turns = angle / (pi / 4), near = std::nearbyint(turns);
    return std::fabs(turns - near) < tolerance ? (static_cast<Int>(near) % 8 + 8) % 8 : 0;
}

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
Int number_gates(const Row* gates, const Int* turns, Int count, const Int* conditions, const Complex* entries,
                 Index* numbers, First* first) {
    plan::Interned known;
    std::vector<char> bytes;
    Int condition = 0, entry = 0;
    for (Int k = 0; k < count; ++k) {
        const Int own = num_entries(gates[k]);
        const std::size_t before = known.size();
        bytes.clear();
        append(bytes, gates + k, 1);
        append(bytes, turns + k, 1);
        append(bytes, conditions + 2 * condition, 2 * gates[k].num_conditions);
        append(bytes, entries + entry, own);
        numbers[k] = known.of({bytes.data(), bytes.size()});
        if (known.size() > before) first[before] = {gates[k], turns[k], condition, entry};
        condition += gates[k].num_conditions, entry += own;
    }
    return static_cast<Int>(known.size());
}

}  // namespace
}  // namespace qx::form

// Writes for each gate by how much it turns, if that is known and has a gate of its own, and which of the distinct ones it
// is, in the order in which these come, and of each of these its row, that turn, and where its conditions and entries begin;
// returns how many there are. Gates are equal if their rows are, their turns, their conditions and their entries.
// angles, and which of them vary (the first number of each of `places`): as a writer writes them.
QX_EXPORT(distinct_gates, (const qx::form::Row* gates, const double* angles, qx::Int count, const qx::Int* places,
                           qx::Int num_places, const qx::Int* conditions, const qx::form::Complex* entries, double tolerance,
                           qx::Int* turns, qx::plan::Index* numbers, qx::form::First* first)) {
    for (qx::Int k = 0, place = 0; k < count; ++k) {
        const qx::Int before = place;
        while (place < num_places && places[2 * place] == k) ++place;
        turns[k] = qx::form::turn_of(gates[k], angles[k], place > before, tolerance);
    }
    return qx::guarded([&] { return number_gates(gates, turns, count, conditions, entries, numbers, first); });
}
