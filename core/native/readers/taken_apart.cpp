// What gates look like that a transpiler has taken apart, as qsim_ex.run.tried asks.

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/export.hpp"
#include "readers/op_masks.hpp"

namespace {

using namespace qx::plan;
using qx::Int;
using qx::python::call;
using qx::python::Object;

constexpr int most_wires = 64;
// A matrix on three wires takes 14 CX at least (Shende, Markov, Bullock, quant-ph/0308033), and transpilers write 19 or 20
// for any: more gates on two of them, one behind another, are a longer circuit in which something may be found.
constexpr Int least_of_any = 14, most_of_any = 22;

struct Gate {
    Object* name;
    Mask acted;
    bool mixes;
};

Gate gate_of(Object* op) {
    const auto [mixed, acted] = qx::python::masks_of(op);
    return {call.tuple_item(op, 5), acted, mixed != 0};
}

bool alike(Object* one, Object* other) {
    if (one == other) return true;
    Int sizes[2];
    const char *first = call.text(one, &sizes[0]), *second = call.text(other, &sizes[1]);
    return sizes[0] == sizes[1] && !std::memcmp(first, second, static_cast<std::size_t>(sizes[0]));
}

// Turns of single wires, and the runs of gates of which they are; gates on several wires, and runs of them on the same ones.
// A phase and what mixes a wire, of one name, are one turn: what a `u` is translated to.
class Turns {
  public:
    Int turns = 0, runs = 0, together = 0, groups = 0;

    void add(const Gate& gate) {
        if (gate.acted & (gate.acted - 1)) {
            bool same = true;
            each(gate.acted, [&](int wire) {
                same = same && wires_[wire].behind == gate.acted;
                wires_[wire] = {gate.acted, false, {}};
            });
            together += 1, groups += !same;
        } else if (gate.acted) {  // a phase of no wire is none
            Wire& wire = wires_[static_cast<std::size_t>(lowest(gate.acted))];
            // A run that begins before what is seen is not seen in full.
            turns += wire.behind && (!wire.in_run || !is_one(wire.before, gate));
            runs += wire.behind && !wire.in_run;
            wire.in_run = true, wire.before = gate;
        }
    }

  private:
    struct Wire {
        Mask behind = 0;  // the wires of the last gate on several
        bool in_run = false;
        Gate before = {};
    };

    static bool is_one(const Gate& one, const Gate& other) {
        return !(one.mixes && other.mixes) && alike(one.name, other.name);
    }

    std::array<Wire, most_wires> wires_{};
};

// Gates on two wires, and those of them that are on the same three wires, one behind another, as often as any matrix is.
class Triples {
  public:
    Int all = 0;

    void add(Mask acted) {
        if (count(acted) < 2) return;
        all += 1;
        if (count(acted) > 2) return each(acted, [&](int wire) { of_[wire] = 0; });
        const Int one = of_[lowest(acted)], other = of_[highest(acted)];
        if (one && one == other) {
            sets_[one].gates += 1;
            return;
        }
        Set made{acted, 1};
        for (const Int set : {one, other})  // each goes on, if no wire of it is elsewhere; the other may lose a wire to it
            if (count(made.wires | sets_[set].wires) <= 3 && is_open(set)) {
                made.wires |= sets_[set].wires, made.gates += sets_[set].gates;
                sets_[set].gates = 0;
            }
        sets_.push_back(made);
        each(made.wires, [&](int wire) { of_[wire] = static_cast<Int>(sets_.size()) - 1; });
    }
    Int dense() const {
        Int found = 0;
        for (const Set& set : sets_)
            if (set.gates >= least_of_any && set.gates <= most_of_any) found += set.gates;
        return found;
    }

  private:
    struct Set {
        Mask wires;
        Int gates;
    };

    // Whether no wire of a set has gone on to another.
    bool is_open(Int set) const {
        bool open = true;
        each(sets_[set].wires, [&](int wire) { open = open && of_[wire] == set; });
        return open;
    }

    std::vector<Set> sets_{{0, 0}};  // the first one is that of wires without one
    std::array<Int, most_wires> of_{};
};

}  // namespace

// Looks at some instructions, between `begin` and `end` for turns, and as far as `few` on both sides of these for matrices
// on three wires; what is no operation counts as one on all wires. Writes how many gates are turns of single wires, in how
// many runs; how many act on several wires, in how many runs on the same ones; and of how many of these more so many are
// part of any matrix on three.
QX_EXPORT(structure_taken_apart, (Object* instructions, Object* op_type, Int begin, Int end, Int few, Int* out)) {
    Turns turns;
    Triples triples;
    const Int last = std::min(end + few, call.tuple_size(instructions));
    for (Int k = std::max(begin - few, Int{0}); k < last; ++k) {
        Object* one = call.tuple_item(instructions, k);
        Object* own = call.type(one);
        call.decrease(own);
        const Gate gate = own == op_type ? gate_of(one) : Gate{nullptr, ~Mask{0}, true};
        if (k >= begin && k < end) turns.add(gate);
        triples.add(gate.acted);
    }
    const Int found[] = {turns.turns, turns.runs, turns.together, turns.groups, triples.all, triples.dense()};
    std::copy(std::begin(found), std::end(found), out);
    return 0;
}
