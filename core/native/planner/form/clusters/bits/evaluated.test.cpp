// Tests of pieces that are evaluated on bits: steps do what pieces did, and ladders are as few phases as their conditions.

#include "planner/form/clusters/bits/evaluated.hpp"

#include <algorithm>
#include <numbers>

#include "planner/form/clusters/bits/evaluation.hpp"
#include "planner/form/clusters/bits/naive_axes.test.hpp"

using namespace qx::form;
using naive::applied, naive::drawn_turn, naive::Drawn, naive::State, naive::turned;

namespace {

constexpr double pi = std::numbers::pi;
const double root = std::sqrt(0.5);
const Matrix2 h{root, root, root, -root};

// An axis in the plane of Z and X, or in that of Z and Y, by eighths of a turn.
Axis drawn_axis(Drawn& drawn) {
    const double angle = static_cast<double>(drawn.below(8)) * pi / 4;
    return drawn.below(2) ? Axis{std::sin(angle), 0, std::cos(angle)} : Axis{0, std::sin(angle), std::cos(angle)};
}

AxisPiece drawn_piece(Drawn& drawn, int wires) {
    AxisPiece out;
    const int target = static_cast<int>(drawn.below(static_cast<std::uint64_t>(wires)));
    for (int wire = 0; wire < wires; ++wire) {
        if (wire != target && drawn.below(3)) continue;
        const Axis z = drawn.below(4) ? Axis{0, 0, 1} : Axis{0, 0, -1};
        out.wires |= unit(wire), out.axes.push_back(wire == target ? drawn_axis(drawn) : z);
    }
    out.is_parity = drawn.below(6) == 0;
    const double part = pi / static_cast<double>(unit(static_cast<int>(drawn.below(3))));
    out.angle = drawn.below(4) ? (drawn.below(2) ? part : -part) : drawn.angle();
    return out;
}

// Evaluates pieces, whatever is taken for nothing.
Pieces evaluated(Pieces given, bool zeros, std::size_t within, std::size_t& work, std::size_t& found) {
    double left = HUGE_VAL;
    return qx::form::evaluated(std::move(given), zeros, within, left, work, found);
}

void turn(Pieces& to, int wire, const Matrix2& by) { to.carried(wire) = by * to.carried(wire); }

void put(Pieces& to, Mask on, double angle) {
    to.put({Piece::where, on, angle, on, std::vector<Matrix2>(static_cast<std::size_t>(count(on)), identity2)}, false);
}

void put_cx(Pieces& to, int control, int target) {
    turn(to, target, h), put(to, unit(control) | unit(target), pi), turn(to, target, h);
}

// X of a wire where two others are 1, but for phases, of three CX.
void put_toffoli(Pieces& to, int a, int b, int target) {
    turn(to, target, phase2(pi / 4) * h);
    put_cx(to, b, target), turn(to, target, phase2(-pi / 4)), put_cx(to, a, target);
    turn(to, target, phase2(pi / 4)), put_cx(to, b, target);
    turn(to, target, h * phase2(-pi / 4));
}

// A phase of an even number of wires, the product of which is computed on half as many others, and undone.
void put_ladder(Pieces& to, int number, double angle) {
    const auto step = [&](int k) { put_toffoli(to, k ? number + k - 1 : 0, k + 1, number + k); };
    for (int k = 0; k + 2 < number; ++k) step(k);
    put(to, unit(number - 1) | unit(2 * number - 3), angle);
    for (int k = number - 2; k-- > 0;) step(k);
}

}  // namespace

TEST_CASE("steps do what pieces did, whichever fit, whenever that is asked, whatever is known, and what is too long") {
    constexpr int wires = 5;
    std::size_t written = 0;
    for (unsigned seed = 0; seed < 6000; ++seed) {
        Drawn drawn(seed, wires);
        const bool is_known = seed % 3 == 0;
        Diagrams diagrams(seed % 4 < 2 ? ~std::size_t{0} : 4 + drawn.below(120), seed % 2 ? 300 : drawn.below(30));
        Evaluation made(diagrams, wires, is_known, seed % 2 ? Evaluation::Frames::guessed : Evaluation::Frames::let_go);
        State first = drawn.state();
        for (std::size_t k = 1; is_known && k < first.size(); k += 2) first[k] = 0;
        State expected = first;
        for (std::uint64_t k = 2 + drawn.below(14); k > 0; --k) {
            const AxisPiece piece = drawn_piece(drawn, wires);
            const int open = drawn.below(2) ? lowest(piece.wires) : -1;
            if (!made.act(piece, open)) continue;
            expected = applied(piece, expected);
            if (k > 1 && drawn.below(3)) continue;
            const std::size_t most = drawn.below(3) ? ~std::size_t{0} : drawn.below(6);
            const auto all = made.in_all(most);
            if (!all) continue;
            ++written;
            State found = first;
            for (const AxisPiece& one : all->pieces) found = applied(one, found);
            for (Complex& one : found) one *= std::polar(1.0, all->phase);
            CHECK(naive::distance(found, expected) < 1e-10);
            const auto joins = [](const AxisPiece& one) { return count(one.wires) > 1; };
            const auto number = std::count_if(all->pieces.begin(), all->pieces.end(), joins);
            CHECK(static_cast<std::size_t>(number) <= most);
        }
    }
    CHECK(written > 4000);
}

TEST_CASE("a ladder is a phase for each of the wires that it borrows and one more, and one alone where these are 0") {
    for (const int number : {4, 5, 6}) {
        const int wires = 2 * number - 2;
        for (const bool zeros : {false, true}) {
            Drawn drawn(static_cast<unsigned>(number), wires);
            Pieces given(wires, zeros);
            for (int wire = 0; wire < (zeros ? number : wires); ++wire) turn(given, wire, drawn_turn(drawn));
            put_ladder(given, number, zeros ? 1.1 : pi);
            for (int wire = 0; wire < wires; ++wire) turn(given, wire, drawn_turn(drawn));
            State first = drawn.state();
            if (zeros) std::fill(first.begin(), first.end(), 0), first[0] = 1;
            const State before = applied(given, first);
            std::size_t work = 0, parts = 0;
            Pieces made = evaluated(given, zeros, 10'000'000, work, parts);
            CHECK(naive::distance(applied(made, first), before) < 1e-9);
            CHECK(made.all.size() == (zeros ? 1 : static_cast<std::size_t>(number - 1)));
            CHECK(parts == given.all.size());
            const auto is_whole = [&](const Piece& one) { return count(one.wires) == number; };
            CHECK(std::count_if(made.all.begin(), made.all.end(), is_whole) == 1);
        }
    }
}

TEST_CASE("a ladder behind phases that come again is found though each of these takes long in vain") {
    constexpr int number = 6, wires = 2 * number - 2;
    Drawn drawn(5, wires);
    Pieces given(wires, false);
    const auto put_phases = [&] {
        for (int j = 0; j < wires; ++j)
            for (int k = 0; k < j; ++k) put(given, unit(j) | unit(k), drawn.angle());
    };
    std::vector<Matrix2> turns;
    for (int wire = 0; wire < wires; ++wire) turns.push_back(drawn_turn(drawn));
    put_phases();
    for (int wire = 0; wire < wires; ++wire) turn(given, wire, turns[static_cast<std::size_t>(wire)]);
    put_ladder(given, number, 0.7);
    for (int wire = 0; wire < wires; ++wire) turn(given, wire, adjoint(turns[static_cast<std::size_t>(wire)]));
    put_phases();
    const State first = drawn.state(), expected = applied(given, first);
    std::size_t work = 0, found = 0;
    Pieces made = evaluated(given, false, 50'000, work, found);  // with all of them tried the ladder takes 100,000
    CHECK(found > 0);
    CHECK(naive::distance(applied(made, first), expected) < 1e-9);
}

TEST_CASE("others pass a ladder or stay behind it, and all does what it did") {
    constexpr int number = 5, wires = 2 * number - 2;
    std::size_t least = 100, found = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false);
        for (int k = 0; k < 3; ++k) {
            for (int wire = 0; wire < wires; ++wire) turn(given, wire, drawn_turn(drawn));
            put_ladder(given, number, pi);
            const Mask one = unit(static_cast<int>(drawn.below(wires))), other = unit(static_cast<int>(drawn.below(wires)));
            if (one == other) continue;
            if (k && seed % 2) given.put({Piece::rotation, one | other, drawn.angle()}, false);
            else put(given, one | other, drawn.angle());
        }
        const State first = drawn.state(), before = applied(given, first);
        std::size_t work = 0, parts = 0;
        Pieces made = evaluated(given, false, 10'000'000, work, parts);
        CHECK(naive::distance(applied(made, first), before) < 1e-9);
        least = std::min(least, made.all.size()), found += parts > 0;
    }
    CHECK(least <= 15);  // four for each ladder, and what is between
    CHECK(found >= 5);   // where two ladders begin and end among each other, too few pieces go
}

TEST_CASE("a wire that is read along an axis that was not guessed is a condition all the same") {
    constexpr int wires = 7;
    for (unsigned seed = 0; seed < 10; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, true);
        for (const int wire : {0, 1, 3, 5, 6}) turn(given, wire, drawn_turn(drawn));
        const auto flip = [&](double sign) {  // of wire 2 where the first wire is 1 and the second one is not
            turn(given, 2, h);
            put(given, 0b101, sign * pi / 2), put(given, 0b111, pi), put(given, 0b101, sign * pi / 2);
            turn(given, 2, h);
        };
        const auto flip_next = [&] { turn(given, 4, h), put(given, 0b11100, pi), turn(given, 4, h); };
        flip(1), flip_next(), put(given, 0b110000, drawn.angle()), flip_next(), flip(-1);
        turn(given, 1, drawn_turn(drawn)), put(given, 0b1000010, drawn.angle());
        State first(std::size_t{1} << wires);
        first[0] = 1;
        const State before = applied(given, first);
        std::size_t work = 0, parts = 0;
        Pieces made = evaluated(given, true, 1'000'000, work, parts);
        CHECK(naive::distance(applied(made, first), before) < 1e-9);
        CHECK(made.all.size() == 2);
    }
}

TEST_CASE("nothing changes where no work is allowed, or too few pieces go") {
    Pieces given(8, false);
    put_ladder(given, 5, pi);
    std::size_t work = 0, parts = 0;
    CHECK(evaluated(given, false, 0, work, parts).all.size() == given.all.size());
    CHECK(parts == 0);
    Pieces other(8, false);
    Drawn drawn(1, 8);
    for (int k = 0; k < 10; ++k)
        turn(other, 6, drawn_turn(drawn)), turn(other, 7, drawn_turn(drawn)), put(other, unit(6) | unit(7), pi);
    const Pieces made = evaluated(other, false, 1'000'000, work, parts);
    CHECK(parts == 0);
    CHECK(made.all.size() == other.all.size());
}

namespace {

Pieces on_bits(Pieces given, std::size_t within, std::size_t& work, std::size_t& parts) {
    return evaluated(std::move(given), false, within, work, parts);
}

void put_flip(Pieces& to, int wire, int control, const Matrix2& before, const Matrix2& behind) {
    turn(to, wire, before), put(to, unit(wire) | unit(control), pi), turn(to, wire, behind);
}

// Puts a phase of three of six wires between what computes its first input, by turns of any angle, too, and what undoes
// that, or something else.
void put_sandwich(Drawn& drawn, Pieces& to, bool whole) {
    struct Layer {
        int control;
        Matrix2 before, behind;
    };
    std::vector<Layer> layers;
    const int first = static_cast<int>(drawn.below(6));
    const auto wire = [&](int k) { return (first + k) % 6; };
    for (std::uint64_t left = 1 + drawn.below(3); left-- > 0;) {
        const int control = wire(3 + static_cast<int>(drawn.below(3)));
        const Matrix2 any = drawn_turn(drawn);
        layers.push_back(drawn.below(4) ? Layer{control, h, h} : Layer{control, any, any});
    }
    for (const Layer& one : layers) put_flip(to, first, one.control, one.before, one.behind);
    put(to, unit(first) | unit(wire(1)) | unit(wire(2)), drawn.angle());
    if (!whole && drawn.below(2)) turn(to, static_cast<int>(drawn.below(6)), drawn_turn(drawn));
    if (!whole) put(to, unit(wire(static_cast<int>(drawn.below(2)))) | unit(wire(4)), drawn.angle());
    for (std::size_t k = layers.size(); k-- > 0;)
        put_flip(to, first, layers[k].control, adjoint(layers[k].behind), adjoint(layers[k].before));
}

}  // namespace

TEST_CASE("what is computed around phases and undone, or not, by any turns, does what it did") {
    std::size_t found = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, 6);
        Pieces given(6, false);
        for (int k = 0; k < 3; ++k) put_sandwich(drawn, given, drawn.below(2));
        for (int wire = 0; wire < 6; ++wire) turn(given, wire, drawn_turn(drawn));
        found += naive::rewritten(drawn, given, on_bits).parts;
    }
    CHECK(found > 100);
}

TEST_CASE("inputs of a phase that are computed from the same wire may be undone in any order") {
    for (unsigned seed = 0; seed < 100; ++seed) {
        Drawn drawn(seed, 6);
        Pieces given(6, false);
        std::vector<int> inputs{0, 1, 2, 3};
        const auto flip_all = [&] {
            for (std::size_t k = inputs.size(); k > 1; --k) std::swap(inputs[k - 1], inputs[drawn.below(k)]);
            for (const int wire : inputs) put_flip(given, wire, 4, h, h);
        };
        flip_all(), put(given, 0b11111, drawn.angle()), flip_all();
        CHECK(naive::rewritten(drawn, given, on_bits).parts == 9);
    }
}

TEST_CASE("what turns are off is taken off what is left, and where that is too little pieces stay as they are") {
    constexpr double small = 3e-12;
    const Matrix2 off = turn_about({1, 1}, small);
    for (const bool much : {true, false}) {
        Drawn drawn(1, 6);
        Pieces given(6, false);
        for (const int wire : {0, 1, 2, 3}) put_flip(given, wire, 4, h, off * h);
        put(given, 0b11111, drawn.angle());
        for (const int wire : {0, 1, 2, 3}) put_flip(given, wire, 4, h, h);
        const State first = drawn.state(), before = applied(given, first);
        double left = much ? 100 * small : small;
        const double begun = left;
        std::size_t work = 0, parts = 0;
        Pieces made = qx::form::evaluated(given, false, 1'000'000, left, work, parts);
        CHECK((parts == 9) == much);
        CHECK((left < begun) == much);
        const double size = naive::distance(first, State(first.size()));
        CHECK(naive::distance(applied(made, first), before) <= (begun - left + 1e-14) * size);
    }
}
