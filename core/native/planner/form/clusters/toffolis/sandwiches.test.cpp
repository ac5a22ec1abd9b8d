// Tests of phases between what computes a condition and what undoes that: pieces do what they did, and phases of the inputs
// are found.

#include "planner/form/clusters/toffolis/sandwiches.hpp"

#include "planner/form/clusters/naive_phases.test.hpp"
#include "planner/form/clusters/toffolis/merged_phases.hpp"

using namespace qx::form;
using naive::applied, naive::distance, naive::Drawn, naive::drawn_turn, naive::rewritten, naive::Rewritten, naive::State;

namespace {

constexpr int wires = 6;
constexpr double half = 3.14159265358979323846;

const double root = std::sqrt(0.5);
const Matrix2 h{root, root, root, -root};

void put(Pieces& to, Mask on, Mask values, double angle) {
    Piece piece{Piece::where, on, angle, values & on};
    piece.before.assign(static_cast<std::size_t>(count(on)), identity2);
    to.put(std::move(piece), false);
}

void turn(Pieces& to, int wire, const Matrix2& by) { to.carried(wire) = by * to.carried(wire); }

// Two wires, one of which a sign under the other turns.
struct Computing {
    int wire, control;
    Matrix2 before, behind;
};

// Puts a phase of three wires with what computes its inputs around it, in layers, and something that is undone or not.
void put_sandwich(Drawn& drawn, Pieces& to, bool whole) {
    std::vector<Computing> layers;
    const int first = static_cast<int>(drawn.below(wires));
    for (std::uint64_t left = 1 + drawn.below(3); left-- > 0;) {
        const int control = (first + 3 + static_cast<int>(drawn.below(3))) % wires;
        const Matrix2 any = drawn_turn(drawn);
        layers.push_back(drawn.below(4) ? Computing{first, control, h, h} : Computing{first, control, any, any});
    }
    for (const Computing& one : layers) {
        turn(to, one.wire, one.before);
        put(to, unit(one.wire) | unit(one.control), ~Mask{0}, half);
        turn(to, one.wire, one.behind);
    }
    put(to, unit(first) | unit((first + 1) % wires) | unit((first + 2) % wires), drawn.below(64), drawn.angle());
    if (!whole && drawn.below(2)) turn(to, static_cast<int>(drawn.below(wires)), drawn_turn(drawn));
    if (!whole) put(to, unit(drawn.below(3) ? first : (first + 1) % wires) | unit((first + 4) % wires), 0, drawn.angle());
    for (std::size_t k = layers.size(); k-- > 0;) {
        turn(to, layers[k].wire, adjoint(layers[k].behind));
        put(to, unit(layers[k].wire) | unit(layers[k].control), ~Mask{0}, half);
        turn(to, layers[k].wire, adjoint(layers[k].before));
    }
}

}  // namespace

TEST_CASE("pieces without what is computed and undone do what they did") {
    std::size_t found = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false);
        for (int k = 0; k < 3; ++k) put_sandwich(drawn, given, drawn.below(2));
        for (int wire = 0; wire < wires; ++wire) turn(given, wire, drawn_turn(drawn));
        found += rewritten(drawn, given, without_computing).parts;
    }
    CHECK(found > 100);
}

TEST_CASE("inputs of a phase that are computed from the same wire may be undone in any order") {
    std::size_t found = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false);
        std::vector<int> inputs{0, 1, 2, 3};
        const auto flip = [&](int wire) {
            turn(given, wire, h);
            put(given, unit(wire) | unit(4), ~Mask{0}, half);
            turn(given, wire, h);
        };
        const auto shuffle = [&] {
            for (std::size_t k = inputs.size(); k > 1; --k) std::swap(inputs[k - 1], inputs[drawn.below(k)]);
        };
        shuffle();
        for (const int wire : inputs) flip(wire);
        put(given, 0b11111, drawn.below(32), drawn.angle());
        shuffle();
        for (const int wire : inputs) flip(wire);
        found += rewritten(drawn, given, without_computing).parts;
    }
    CHECK(found == 900);
}

TEST_CASE("a sign of three wires, one of which two others flip, is two signs") {
    Pieces given(wires, false);
    const auto flip = [&] {
        turn(given, 2, h);
        put(given, 0b11100, ~Mask{0}, half);
        turn(given, 2, h);
    };
    flip();
    put(given, 0b00111, ~Mask{0}, half);
    flip();
    std::size_t work = 0, parts = 0;
    const Pieces made = without_computing(given, 1'000'000, work, parts);
    CHECK(parts == 3);
    std::vector<Mask> on;
    for (const Piece& piece : made.all) on.push_back(piece.wires);
    std::sort(on.begin(), on.end());
    CHECK(on == std::vector<Mask>{0b00111, 0b11011});
}

TEST_CASE("turns as small as rounding are not lost between phases of the same wires") {
    Drawn drawn(3, wires);
    Pieces given(wires, false);
    for (int k = 0; k < 100; ++k) {
        const double angle = drawn.angle();
        put(given, 0b11, 0b11, angle);
        turn(given, 0, {1, {0, -4.5e-13}, {0, -4.5e-13}, 1});
        put(given, 0b11, 0b11, -angle);
    }
    const State first = drawn.state(), before = applied(given, first);
    Pieces made = with_merged_phases(given);
    CHECK(distance(applied(made, first), before) < 1e-13);
}
