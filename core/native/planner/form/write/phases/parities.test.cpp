// Tests of the phases of a Clifford operator on few parities.

#include "planner/form/write/phases/parities.hpp"

#include "planner/form/naive.test.hpp"
#include "thresholds/table.hpp"

using namespace qx::form;
using namespace qx::form::naive;

namespace {

// What phases, or rotations, do to a state.
State acted(const Gate& gate, const State& to) {
    if (gate.kind == Gate::rotation) return rotated({gate.mask, static_cast<Mask>(gate.wire)}, gate.angle.value, to);
    constexpr std::complex<double> powers[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    State out = to;
    for (std::size_t k = 0; k < to.size(); ++k) {
        const int set = count(gate.mask & k);
        if (gate.kind == Gate::cz) out[k] *= k >> gate.wire & 1 ? powers[2 * set & 3] : 1;
        else out[k] *= powers[set * (gate.kind == Gate::s ? 1 : gate.kind == Gate::z ? 2 : 3) & 3];
    }
    return out;
}

std::vector<Gate> drawn_phases(Drawn& drawn, std::uint64_t pairs) {
    std::vector<Gate> out;
    for (std::uint64_t k = 0; k < pairs; ++k) {
        const auto wire = static_cast<qx::Int>(drawn.below(static_cast<std::uint64_t>(drawn.wires)));
        const Mask others = drawn.below(unit(drawn.wires)) & ~unit(static_cast<int>(wire));
        if (others) out.push_back({Gate::cz, wire, others});
        const Gate::Kind kinds[] = {Gate::s, Gate::sdg, Gate::z};
        if (const Mask mask = drawn.below(unit(drawn.wires))) out.push_back({kinds[drawn.below(3)], 0, mask});
    }
    return out;
}

}  // namespace

TEST_CASE("phases on few parities do what phases did, but for one of all, and are no more than one a wire and Z") {
    int fewer = 0, same = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        Drawn drawn(seed, 3 + static_cast<int>(seed % 7));
        qx::thresholds.phase_pairs = seed % 3;
        const std::vector<Gate> gates = drawn_phases(drawn, drawn.below(15));
        const std::vector<Gate> found = fewer_phases(gates);
        State one(unit(drawn.wires), 1), other = one;
        for (const Gate& gate : gates) one = acted(gate, one);
        for (const Gate& gate : found) other = acted(gate, other);
        const std::complex<double> phase = one[0] / other[0];
        for (auto& amplitude : other) amplitude *= phase;
        CHECK(distance(one, other) < 1e-12);
        const bool written = !found.empty() && found[0].kind == Gate::rotation;
        if (written) CHECK(static_cast<int>(found.size()) <= drawn.wires + 2);
        else CHECK(found.size() == gates.size());
        ++(written ? fewer : same);
        for (const Gate& gate : found) CHECK((gate.kind != Gate::rotation || gate.quarters == 1 || &gate == &found.back()));
    }
    qx::thresholds.phase_pairs = 2;
    CHECK(fewer > 100);
    CHECK(same > 50);
}

TEST_CASE("other gates stay where they are between phases") {
    qx::thresholds.phase_pairs = 2;
    const Gate h{Gate::h, 0, 3};
    const std::vector<Gate> pair{{Gate::cz, 0, 2}, {Gate::s, 0, 1}};
    std::vector<Gate> gates = pair;
    gates.push_back(h);
    gates.insert(gates.end(), pair.begin(), pair.end());
    const std::vector<Gate> found = fewer_phases(gates);
    CHECK(found.size() == 5);
    CHECK(found[2].kind == Gate::h);
}
