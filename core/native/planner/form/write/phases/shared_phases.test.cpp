// Tests of phases of two wires in place of rotations.

#include "planner/form/write/phases/shared_phases.hpp"

#include <numbers>

#include "planner/form/naive.test.hpp"

using namespace qx::form;
using namespace qx::form::naive;

namespace {

constexpr double pi = std::numbers::pi;

// Does gates to a state. next: the entries of phases.
State acted(const std::vector<Gate>& gates, const qx::form::Complex* next, State to) {
    constexpr std::complex<double> i{0, 1};
    for (const Gate& gate : gates) {
        State out(to.size());
        const Mask about = static_cast<Mask>(gate.wire);
        if (gate.kind == Gate::rotation) out = rotated({gate.mask, about}, gate.angle.value, to);
        for (std::size_t k = 0; k < to.size(); ++k) switch (gate.kind) {
                case Gate::h:
                    out[k] = std::sqrt(0.5) * (k & gate.mask ? to[k ^ gate.mask] - to[k] : to[k ^ gate.mask] + to[k]);
                    break;
                case Gate::s: out[k] = to[k] * std::pow(i, count(k & gate.mask)); break;
                case Gate::sdg: out[k] = to[k] * std::pow(-i, count(k & gate.mask)); break;
                case Gate::z: out[k] = to[k] * std::pow(-1.0, count(k & gate.mask)); break;
                case Gate::x: out[k] = to[k ^ gate.mask]; break;
                case Gate::cx: out[k] = to[k >> gate.wire & 1 ? k ^ gate.mask : k]; break;
                case Gate::swap: {
                    const Mask both = unit(static_cast<int>(gate.wire)) | gate.mask;
                    out[k] = to[count(k & both) == 1 ? k ^ both : k];
                    break;
                }
                case Gate::phase: out[k] = (k & gate.mask) == about ? *next * to[k] : to[k]; break;
                default: break;
            }
        next += gate.kind == Gate::phase;
        to = out;
    }
    return to;
}

// A phase where two wires have values, as rotations: about Z of both, and of each.
void add_phase(std::vector<Gate>& to, int first, int second, int values, double by, double& phase) {
    const int one = values & 1 ? 1 : -1, other = values & 2 ? 1 : -1;
    const double angle = -by / 2;
    const auto rotation = [&](Mask about, double of) {
        to.push_back({Gate::rotation, static_cast<qx::Int>(about), 0, {of}});
    };
    rotation(unit(first) | unit(second), one * other * angle);
    rotation(unit(first), -one * angle);
    rotation(unit(second), -other * angle);
    phase += by / 4;
}

std::vector<Gate> drawn_gates(Drawn& drawn) {
    std::vector<Gate> out;
    double phase = 0;
    const auto wires = static_cast<std::uint64_t>(drawn.wires);
    for (std::uint64_t k = drawn.below(40); k-- > 0;) {
        const int first = static_cast<int>(drawn.below(wires)),
                  second = static_cast<int>((static_cast<std::uint64_t>(first) + 1 + drawn.below(wires - 1)) % wires);
        const double angle = drawn.below(3) ? drawn.angle() : pi / 4 * static_cast<double>(drawn.below(8));
        const Gate::Kind kinds[] = {Gate::h, Gate::s, Gate::sdg, Gate::z, Gate::x, Gate::cx, Gate::swap};
        const Gate::Kind kind = kinds[drawn.below(7)];
        const Mask some = kind == Gate::h || kind >= Gate::cx ? unit(second) : 1 + drawn.below(unit(drawn.wires) - 1);
        switch (drawn.below(4)) {
            case 0: out.push_back({kind, kind >= Gate::cx ? first : 0, some}); break;
            case 1:
                out.push_back({Gate::rotation,
                               static_cast<qx::Int>(unit(first) | unit(second)),
                               drawn.below(4) ? 0 : unit(first),
                               {angle}});
                break;
            case 2: out.push_back({Gate::rotation, static_cast<qx::Int>(unit(first)), 0, {angle}}); break;
            default: add_phase(out, first, second, static_cast<int>(drawn.below(4)), angle, phase);
        }
    }
    return out;
}

}  // namespace

TEST_CASE("rotations as phases of two wires do what they did, phase included, before the operator at the end and in it") {
    int some = 0;
    for (unsigned seed = 0; seed < 600; ++seed) {
        Drawn drawn(seed, 2 + static_cast<int>(seed % 4));
        const std::vector<Gate> body = drawn_gates(drawn);
        std::vector<Gate> gates = body;
        const Gate::Kind end[] = {Gate::s, Gate::swap, Gate::z, Gate::sdg, Gate::x};
        for (const Gate::Kind kind : end)
            gates.push_back({kind, kind == Gate::swap, kind == Gate::swap ? Mask{1} : drawn.below(unit(drawn.wires))});
        std::erase_if(gates, [](const Gate& gate) { return gate.kind != Gate::rotation && !gate.mask; });
        std::vector<qx::form::Complex> entries;
        std::size_t last = body.size();
        double phase = 0;
        Sums sums;
        const State state = drawn.state();
        const std::vector<Gate> found = shared_phases(gates, last, sums, entries, phase);
        State other = acted(found, entries.data(), state);
        for (auto& amplitude : other) amplitude *= std::polar(1.0, phase);
        CHECK(distance(acted(gates, nullptr, state), other) < 1e-11);
        some += !entries.empty();
        for (std::size_t k = last; k < found.size(); ++k) CHECK(found[k].kind <= Gate::swap);
    }
    CHECK(some > 100);
    CHECK(some < 580);
}

TEST_CASE("controlled phases between H come back from rotations about Z, whichever values of wires they read") {
    for (unsigned seed = 0; seed < 40; ++seed) {
        Drawn drawn(seed, 3 + static_cast<int>(seed % 6));
        std::vector<Gate> gates;
        double phase = 0;
        std::vector<int> reads(2 * static_cast<std::size_t>(drawn.wires));
        for (int& one : reads) one = static_cast<int>(drawn.below(2));
        for (int wire = drawn.wires; wire-- > 0;) {
            gates.push_back({Gate::h, 0, unit(wire)});
            for (int other = 0; other < wire; ++other)
                add_phase(gates, wire, other,
                          reads[static_cast<std::size_t>(2 * wire)] | reads[static_cast<std::size_t>(2 * other + 1)] << 1,
                          std::ldexp(pi, other - wire), phase);
        }
        std::vector<qx::form::Complex> entries;
        std::size_t last = gates.size();
        Sums sums;
        const std::vector<Gate> found = shared_phases(gates, last, sums, entries, phase);
        CHECK(static_cast<int>(entries.size()) == drawn.wires * (drawn.wires - 1) / 2);
        for (const Gate& gate : found)
            if (gate.kind == Gate::rotation) CHECK(std::fabs(std::remainder(gate.angle.value, pi / 2)) < 1e-9);
    }
}

TEST_CASE("rotations of two wires stay where a wire would turn that did not, and where they are eighth turns") {
    for (const double angle : {0.3, pi / 4}) {
        std::vector<Gate> gates{{Gate::rotation, 3, 0, {angle}}, {Gate::rotation, 1, 0, {angle}}};
        if (angle != 0.3) gates.push_back({Gate::rotation, 2, 0, {angle}});
        std::vector<qx::form::Complex> entries;
        std::size_t last = gates.size();
        double phase = 0;
        Sums sums;
        CHECK(shared_phases(gates, last, sums, entries, phase).size() == gates.size());
        CHECK(entries.empty());
    }
}
