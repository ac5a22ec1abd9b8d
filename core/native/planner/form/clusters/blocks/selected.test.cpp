// Tests of matrices of one wire that others select, and of two under controls.

#include "planner/form/clusters/blocks/selected.hpp"

#include <array>

#include "planner/form/clusters/naive_phases.test.hpp"
#include "thresholds/table.hpp"

using namespace qx::form;
using naive::applied, naive::distance, naive::drawn_turn, naive::Drawn, naive::State;

namespace {

constexpr int wires = 6;

// Puts a phase, or a parity, of some wires.
void put(Pieces& to, Mask on, Drawn& drawn) {
    Piece piece{drawn.below(2) ? Piece::where : Piece::parity, on, drawn.angle()};
    if (piece.kind == Piece::where) piece.values = drawn.below(64) & on;
    piece.before.assign(static_cast<std::size_t>(count(on)), identity2);
    to.put(std::move(piece), false);
}

void turn(Pieces& to, int wire, Drawn& drawn) { to.carried(wire) = drawn_turn(drawn) * to.carried(wire); }

// Puts pieces that turn a wire and read three others, each with others between that are not on the wire in one of three
// cases; returns the wires.
Mask put_selected(Drawn& drawn, int turns, Pieces& to) {
    const int target = static_cast<int>(drawn.below(wires));
    Mask read = 0;
    while (count(read) < 3) read |= unit(static_cast<int>(drawn.below(wires))) & ~unit(target);
    for (int k = 0; k <= turns; ++k) {
        Mask own = drawn.below(64) & read;
        if (!own || k < 3) own = unit(k == 0 ? lowest(read) : k == 1 ? highest(read) : lowest(read & (read - 1)));
        if (k) turn(to, target, drawn);
        put(to, own | unit(target), drawn);
        if (drawn.below(3)) continue;
        Mask other = drawn.below(64) & ~unit(target);
        if (count(other) < 2) continue;
        if (drawn.below(2)) turn(to, lowest(other & ~read ? other & ~read : other), drawn);
        put(to, other, drawn);
    }
    return read | unit(target);
}

std::size_t mixed(const Piece& block) {
    const std::size_t size = std::size_t{1} << count(block.wires);
    std::size_t out = 0;
    for (std::size_t k = 0; k < block.entries.size(); ++k)
        if (block.entries[k] != 0.0) out |= k / size ^ k % size;
    return out;
}

}  // namespace

TEST_CASE("what turns one wire and reads others is one matrix that they select, and does what its pieces did") {
    std::size_t found = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false);
        for (int wire = 0; wire < wires; ++wire) turn(given, wire, drawn);
        for (std::uint64_t left = 1 + drawn.below(2); left > 0; --left) {
            put_selected(drawn, 12, given);
            for (int wire = 0; wire < wires; ++wire)
                if (drawn.below(2)) turn(given, wire, drawn);
        }
        const State first = drawn.state(), before = applied(given, first);
        std::size_t parts = 0, own = 0;
        Pieces made = with_selected(given, parts);
        CHECK(distance(applied(made, first), before) < 1e-9);
        for (const Piece& piece : made.all) {
            own += piece.kind == Piece::block || piece.kind == Piece::controlled ? piece.parts : 0;
            if (piece.kind != Piece::block) continue;
            ++found;
            CHECK(count(piece.wires) > 2);
            CHECK(count(mixed(piece)) == 1);
        }
        CHECK(own == parts);
    }
    CHECK(found > 200);
}

TEST_CASE("few turns of a wire stay pieces, and a wire that others turn between is read no more") {
    for (const int turns : {6, 12}) {
        Drawn drawn(7, wires);
        Pieces given(wires, false);
        for (int k = 0; k <= turns; ++k) {
            turn(given, 0, drawn);
            put(given, k % 2 ? 0b11 : 0b101, drawn);
        }
        std::size_t parts = 0;
        CHECK((with_selected(given, parts).all.size() == 1) == (turns >= qx::thresholds.selected_turns));
        Pieces turned(wires, false);
        for (int k = 0; k <= turns; ++k) {
            turn(turned, 0, drawn), turn(turned, 1, drawn), turn(turned, 2, drawn);
            put(turned, k % 2 ? 0b11 : 0b101, drawn);
        }
        CHECK(with_selected(turned, parts).all.size() == turned.all.size());
    }
}

namespace {

// Puts pieces that turn two wires where others have their values, each with phases between that read one of these or act
// on what is left; returns those others.
Mask put_under_controls(Drawn& drawn, int number, Pieces& to) {
    std::array<Mask, 2> on{};
    while (on[0] == on[1])
        for (Mask& one : on) one = unit(static_cast<int>(drawn.below(wires)));
    Mask controls = 0;
    while (count(controls) < number) controls |= unit(static_cast<int>(drawn.below(wires))) & ~(on[0] | on[1]);
    const Mask values = drawn.below(64) & controls, rest = below(wires) & ~(controls | on[0] | on[1]);
    for (int k = 0; k < 7; ++k) {
        const Mask own = k == 0 ? on[0] | on[1] : k % 3 ? on[drawn.below(2)] : on[0] | on[1];
        Piece piece{Piece::where, controls | own, drawn.angle(), values | (drawn.below(64) & own)};
        piece.before.assign(static_cast<std::size_t>(count(piece.wires)), identity2);
        to.put(std::move(piece), false);
        for (const Mask wire : on) turn(to, lowest(wire), drawn);
        if (!rest || drawn.below(3)) continue;
        if (drawn.below(2)) turn(to, lowest(rest), drawn);
        put(to, unit(lowest(rest)) | unit(lowest(controls)), drawn);
    }
    return controls;
}

}  // namespace

TEST_CASE("what turns two wires where two others or three have their values is one matrix under these controls") {
    std::size_t found = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false);
        for (int wire = 0; wire < wires; ++wire) turn(given, wire, drawn);
        const Mask controls = put_under_controls(drawn, 2 + static_cast<int>(seed % 2), given);
        const State first = drawn.state(), before = applied(given, first);
        std::size_t parts = 0;
        Pieces made = with_selected(given, parts);
        CHECK(distance(applied(made, first), before) < 1e-9);
        for (const Piece& piece : made.all)
            if (piece.kind == Piece::controlled) {
                ++found;
                CHECK(count(piece.wires & ~piece.control) == 2);
                CHECK(piece.control == controls);
            }
    }
    CHECK(found >= 190);
}
