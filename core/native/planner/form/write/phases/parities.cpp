// The phases of a Clifford operator as quarter turns of few parities.
//
// S on some wires and CZ on pairs of them are i^(x·Bx) for a symmetric matrix B, whose diagonal is S; and S of the parity
// w·x is i^(w·x) = i^(x·ww'x) but for Z. So what is asked for are vectors whose ww' have the sum B over two elements: of a
// row with S, which is such a vector, nothing is left of its row and column; where no row has S, one is given it (Lempel,
// SIAM J. Comput. 4, 175 (1975)). A plan reads ten parities in a table, so of 28 wires it needs three in place of twenty.

#include "planner/form/write/phases/parities.hpp"

#include <algorithm>
#include <array>

#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr double quarter = 1.57079632679489661923;

class Phases {
  public:
    static bool has(const Gate& gate) {
        return gate.kind == Gate::s || gate.kind == Gate::sdg || gate.kind == Gate::z || gate.kind == Gate::cz;
    }
    void add(const Gate& gate) {
        if (gate.kind == Gate::cz) row(gate.wire) ^= gate.mask;
        each(gate.mask, [&](int wire) {
            if (gate.kind == Gate::cz) row(wire) ^= unit(static_cast<int>(gate.wire));
            else turns(wire) += gate.kind == Gate::s ? 1 : gate.kind == Gate::z ? 2 : 3;
        });
    }
    // Writes all of them, if that is worth it, or returns false.
    bool write(std::vector<Gate>& out) {
        Int ends = 0;
        for (int wire = 0; wire < 64; ++wire) {
            ends += count(row(wire));
            if (turns(wire) & 1) row(wire) |= unit(wire);
        }
        if (!ends) return false;
        const std::vector<Mask> found = parities();
        const Int pairs = ends / 2, each_has = (pairs - 1) / static_cast<Int>(found.size());
        if (each_has < thresholds.phase_pairs) return false;
        Mask signs = 0;
        for (const Mask parity : found) {
            out.push_back({Gate::rotation, static_cast<Int>(parity), 0, {quarter}, 1});
            each(parity, [&](int wire) { turns(wire) += 3; });
        }
        for (int wire = 0; wire < 64; ++wire)
            if (turns(wire) & 2) signs |= unit(wire);
        if (signs) out.push_back({Gate::rotation, static_cast<Int>(signs), 0, {2 * quarter}, 2});
        return true;
    }

  private:
    Mask& row(Int wire) { return rows_[static_cast<std::size_t>(wire)]; }
    int& turns(int wire) { return turns_[static_cast<std::size_t>(wire)]; }

    // Takes the matrix apart.
    std::vector<Mask> parities() {
        std::vector<Mask> out;
        for (int at = next(); at >= 0; at = next()) {
            const bool has_turn = row(at) >> at & 1;
            const Mask parity = has_turn ? row(at) : unit(at);
            each(parity, [&](int wire) { row(wire) ^= parity; });
            out.push_back(parity);
        }
        return out;
    }
    // The wire of the next row, negative if nothing is left: one with S, behind which another one still has S if there may
    // be one; of these that with fewest pairs.
    int next() {
        Mask with_turn = 0;
        for (int wire = 0; wire < 64; ++wire) with_turn |= row(wire) & unit(wire);
        int out = -1, least = 0;
        for (int wire = 0; wire < 64; ++wire) {
            if (!row(wire)) continue;
            const int last = 64 * (row(wire) == with_turn), none = 128 * !(with_turn >> wire & 1);
            const int rank = count(row(wire)) + last + none;
            if (out < 0 || rank < least) out = wire, least = rank;
        }
        return out;
    }

    std::array<Mask, 64> rows_{};
    std::array<int, 64> turns_{};  // quarter turns of each wire
};

}  // namespace

std::vector<Gate> fewer_phases(const std::vector<Gate>& gates) {
    std::vector<Gate> out;
    for (auto begin = gates.begin(); begin != gates.end();) {
        Phases phases;
        auto end = begin;
        for (; end != gates.end() && Phases::has(*end); ++end) phases.add(*end);
        if (end == begin) out.push_back(*begin++);
        else if (!phases.write(out)) out.insert(out.end(), begin, end);
        begin = std::max(begin, end);
    }
    return out;
}

}  // namespace qx::form
