// Tests of rotations under controls: they do what their parts did, in an order that lets them.

#include "planner/form/write/grouping.hpp"

#include <algorithm>

#include "planner/form/layers.hpp"
#include "planner/form/naive.test.hpp"

using namespace qx::form;
using namespace qx::form::naive;

namespace {

State acted(const std::vector<Waiting>& waiting, const Controls& controls, State state) {
    for (const Waiting& one : waiting)
        controls.parts(one, [&](const Waiting& part) {
            state = rotated(part.string.pauli, part.string.negative ? -part.angle.value : part.angle.value, state);
        });
    return state;
}

// Drawn rotations in layers, some of them the parts of rotations under two or three controls.
std::vector<Waiting> drawn_rotations(Drawn& drawn) {
    Frame frame(drawn.wires);
    Rounding rounding{1e-12, 0, 1};
    Layers layers(frame, rounding, true);
    for (std::size_t round = 0; round < 4; ++round) {
        Waiting whole{{{1, 0}, false}, {drawn.below(2) ? 0.3 : 0.5}};
        Controls controls;
        whole.num_controls = 2 + static_cast<int>(drawn.below(2));
        for (int wire = 1; wire <= whole.num_controls; ++wire)
            controls.strings.push_back({{0, unit(wire)}, drawn.below(2) == 1});
        controls.quarters.resize(unit(whole.num_controls));
        for (std::size_t k = 0; k < 3; ++k) {  // which changes the frame
            const Pauli about = drawn.below(2) ? drawn.pauli() : Pauli{0, 1 + drawn.below(unit(drawn.wires) - 1)};
            turn(whole.string, about, 1);
            for (SignedPauli& one : controls.strings) turn(one, about, 1);
        }
        whole.angle.value *= static_cast<double>(unit(whole.num_controls));
        controls.parts(whole, [&](const Waiting& part) {
            layers.add(part.string.pauli, {part.string.negative ? -part.angle.value : part.angle.value});
        });
        layers.add(drawn.pauli(), {0.1 * drawn.angle()});
    }
    std::vector<Waiting> out;
    layers.sort();
    for (std::size_t layer = 0; layer < layers.size(); ++layer)
        for (const Index number : layers.layer(layer))
            out.push_back({{layers.item(number).pauli, false}, layers.item(number).angle, 0, layer});
    return out;
}

}  // namespace

TEST_CASE("rotations under controls do what their parts did, whatever stands between these") {
    std::size_t controlled = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, 4 + static_cast<int>(seed % 2));
        std::vector<Waiting> waiting = drawn_rotations(drawn);
        Controls controls;
        std::vector<SignedPauli> x, z;
        const State state = drawn.state(), before = acted(waiting, controls, state);
        for (const bool diagonal : {true, false}) {
            Grouping grouping(waiting, controls, x, z, diagonal);
            while (grouping.advance());
            waiting = grouping.result();
            CHECK(distance(before, acted(waiting, controls, state)) < 1e-12);
        }
        controlled += static_cast<std::size_t>(
            std::count_if(waiting.begin(), waiting.end(), [](const Waiting& one) { return one.num_controls > 1; }));
    }
    CHECK(controlled > 300);
}

TEST_CASE("four eighth turns are one under two controls, whichever way they turn, and what comes behind is turned for it") {
    const Mask target = 4;
    for (unsigned ways = 0; ways < 16; ++ways) {
        std::vector<Waiting> waiting;
        for (unsigned k = 0; k < 4; ++k)
            waiting.push_back({{{target, k}, false}, {(ways >> k & 1 ? 1 : -1) * std::acos(-1.0) / 4}});
        Controls controls;
        std::vector<SignedPauli> x{{{1, 0}}}, z{{{0, target}}};
        Grouping grouping(waiting, controls, x, z, true);
        while (grouping.advance());
        const std::vector<Waiting> found = grouping.result();
        REQUIRE(found.size() == 1);
        CHECK(found[0].num_controls == 2);
        const bool odd = count(ways) & 1;  // then the last one turns the other way
        CHECK((z[0].pauli == (odd ? Pauli{target, 3 | target} : Pauli{0, target})));
    }
}
