// An operation as a product of Pauli rotations on its own wires.

#include "planner/form/gates/product.hpp"

#include <cmath>

#include "planner/form/gates/blocks.hpp"
#include "planner/form/gates/local_clifford.hpp"
#include "planner/form/gates/weyl.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr std::size_t most_separate = 2;
constexpr int most_mixed = 5;
constexpr double pi = 3.14159265358979323846;
constexpr std::array<int, 3> z_first{2, 0, 1};

std::size_t power(std::size_t bits) { return std::size_t{1} << bits; }

class Finder {
  public:
    Finder(double tolerance, Product& out) : tolerance_(tolerance), out_(out) {}

    bool find(Blocks of) {
        const Blocks whole = of;
        while (read_one(of));
        if (whole.selectors.empty() && whole.mixed.size() > 1 && (few_strings(whole, of) || clifford(whole))) return true;
        if (of.selectors.size() > thresholds.selectors) return false;
        if (of.mixed.empty()) return diagonal(phases(of), of.selectors), true;
        if (of.mixed.size() == 1 && one_axis(of)) return true;
        if (whole.mixed.size() == 2 && whole.selectors.empty()) return bell_states(whole) || (two_wires(whole), true);
        if (of.mixed.size() == 1) return one_by_one(of);
        if (of.mixed.size() == 2 && bell_states(of)) return true;
        return of.selectors.empty() && of.mixed.size() > 2 && split_off(of);
    }

  private:
    // Tells whether a number is none, and notes what is left out so.
    bool none(double size) {
        if (!(size <= tolerance_)) return false;
        out_.off = std::max(out_.off, size);
        return true;
    }
    bool none(Complex entry) { return none(std::abs(entry)); }
    void rotate(const LocalPauli& about, double angle) {
        if (!none(std::fabs(angle))) out_.rotations.push_back({about, angle});
    }
    void turn(const Turn& turn, int wire) { out_.off += add_turn(turn, wire, tolerance_, out_.rotations); }

    // Lets a wire that no matrix mixes be a selector; returns whether there was one.
    bool read_one(Blocks& of) {
        for (std::size_t wire = 0; wire < of.mixed.size(); ++wire)
            if (double left_out; !of.mixes(wire, tolerance_, left_out)) return none(left_out), of.read(wire), true;
        return false;
    }

    // Of two wires of which one is only read, such as CX: finds three strings at most, where quarter turns may be six.
    bool few_strings(const Blocks& whole, const Blocks& of) {
        if (whole.mixed.size() > 2 || of.mixed.size() != 1 || of.selectors.size() > thresholds.selectors) return false;
        const std::size_t begin = out_.rotations.size();
        const double phase = out_.phase;
        if (one_axis(of) && out_.rotations.size() <= begin + 3) return true;
        out_.rotations.resize(begin), out_.phase = phase;
        return false;
    }

    static std::vector<double> phases(const Blocks& of) {
        std::vector<double> out;
        for (const Complex& entry : of.entries) out.push_back(phase(entry));
        return out;
    }
    // Above -π; what is there but for rounding is π, so that a half turn is one whichever way it was computed.
    static double phase(Complex entry) {
        const double found = std::arg(entry);
        return found < -pi + 1e-9 ? found + 2 * pi : found;
    }

    // Phases by the signs of some commuting strings: the least bit of their number is that of the first one.
    void diagonal(std::vector<double> by, const std::vector<LocalPauli>& strings) {
        for (std::size_t bit = 1; bit < by.size(); bit *= 2)
            for (std::size_t k = 0; k < by.size(); ++k)
                if (!(k & bit)) {
                    const double a = by[k], b = by[k | bit];
                    by[k] = (a + b) / 2, by[k | bit] = (a - b) / 2;
                }
        out_.phase += by[0];
        for (std::size_t which = 1; which < by.size(); ++which) {
            LocalPauli product;
            bool negative = false;
            for (std::size_t k = 0; k < strings.size(); ++k)
                if (which >> k & 1) negative ^= multiply(product, strings[k]);
            rotate(product, negative ? 2 * by[which] : -2 * by[which]);
        }
    }

    // Turns of one wire about one axis, each by an angle and with a phase of its own.
    bool one_axis(const Blocks& of) {
        std::vector<double> phase_of(of.number());
        std::vector<Turn> turns;
        std::array<double, 3> n{};
        double most = 0;
        for (std::size_t which = 0; which < of.number(); ++which) {
            turns.push_back(Turn::of(of.matrix(which), phase_of[which]));
            const auto& v = turns.back().v;
            const double length = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
            if (length > most) most = length, n = {v[0] / length, v[1] / length, v[2] / length};
        }
        if (of.number() == 1) return out_.phase += phase_of[0], turn(turns[0], of.mixed[0]), true;
        for (const Turn& one : turns)
            for (std::size_t k = 0; k < 3; ++k)
                if (!none(std::fabs(one.v[k] * n[(k + 1) % 3] - one.v[(k + 1) % 3] * n[k]))) return false;
        int axis = 2;
        Turn to_axis;  // turns Z into the axis, if it is no axis itself
        bool is_axis = false;
        for (int k = 0; k < 3 && !is_axis; ++k) {
            const double one = n[static_cast<std::size_t>((k + 1) % 3)], other = n[static_cast<std::size_t>((k + 2) % 3)];
            is_axis = none(most * std::hypot(one, other));
            if (is_axis) axis = k;
        }
        if (n[static_cast<std::size_t>(axis)] < 0) n = {-n[0], -n[1], -n[2]};
        if (!is_axis) {
            to_axis = Turn::about(2, std::atan2(n[1], n[0])) * Turn::about(1, std::atan2(std::hypot(n[0], n[1]), n[2]));
            turn(to_axis.inverse(), of.mixed[0]);
        }
        std::vector<double> by;
        for (const int sign : {1, -1})
            for (std::size_t which = 0; which < of.number(); ++which) {
                const Turn& one = turns[which];
                const double along = one.v[0] * n[0] + one.v[1] * n[1] + one.v[2] * n[2];
                by.push_back(phase(std::polar(1.0, phase_of[which]) * Complex(one.w, -sign * along)));
            }
        std::vector<LocalPauli> strings = of.selectors;
        strings.push_back(on_wire(of.mixed[0], axis));
        diagonal(by, strings);
        if (!is_axis) turn(to_axis, of.mixed[0]);
        return true;
    }

    // Turns of one wire about several axes: each where the selectors have its number.
    bool one_by_one(const Blocks& of) {
        if (of.selectors.size() > most_separate) return false;
        Blocks one = of;
        for (std::size_t which = 0; which < of.number(); ++which) {
            for (std::size_t k = 0; k < one.entries.size(); ++k)
                one.entries[k] = k / 4 == which ? of.entries[k] : k % 4 == 0 || k % 4 == 3 ? 1 : 0;
            const Complex* m = one.matrix(which);
            if (none(m[0] - 1.0) && none(m[3] - 1.0) && none(m[1]) && none(m[2])) continue;
            if (!one_axis(one)) return false;
        }
        return true;
    }

    void two_wires(const Blocks& of) {
        const Weyl weyl(of.matrix(0));
        out_.phase += weyl.phase;
        for (int wire = 0; wire < 2; ++wire) turn(weyl.before[wire], of.mixed[static_cast<std::size_t>(wire)]);
        for (int axis = 0; axis < 3; ++axis) {
            LocalPauli both = on_wire(of.mixed[0], axis);
            multiply(both, on_wire(of.mixed[1], axis));
            rotate(both, -2 * weyl.angles[static_cast<std::size_t>(axis)]);
        }
        for (int wire = 0; wire < 2; ++wire) turn(weyl.after[wire], of.mixed[static_cast<std::size_t>(wire)]);
    }

    // Matrices on two wires that are diagonal in Bell states: phases by XX and ZZ.
    bool bell_states(const Blocks& of) {
        std::vector<double> by(4 * of.number());
        for (std::size_t which = 0; which < of.number(); ++which) {
            const Complex* m = of.matrix(which);
            for (std::size_t k = 0; k < 16; ++k)
                if (k % 4 != k / 4 && k % 4 + k / 4 != 3 && !none(m[k])) return false;
            for (std::size_t odd = 0; odd < 2; ++odd) {  // ZZ = -1: 01 and 10
                const std::size_t a = odd, b = 3 - odd;
                const Complex same = m[4 * a + a], other = m[4 * a + b];
                if (!none(same - m[4 * b + b]) || !none(other - m[4 * b + a])) return false;
                by[which | (2 * odd) * of.number()] = phase(same + other);
                by[which | (2 * odd + 1) * of.number()] = phase(same - other);
            }
        }
        std::vector<LocalPauli> strings = of.selectors;
        for (const int axis : {0, 2}) {
            strings.push_back(on_wire(of.mixed[0], axis));
            multiply(strings.back(), on_wire(of.mixed[1], axis));
        }
        return diagonal(by, strings), true;
    }

    // Finds a wire that is a factor of a matrix, and takes both apart.
    bool split_off(const Blocks& of) {
        const std::size_t size = of.size(), half = size / 2;
        for (std::size_t wire = 0; wire < of.mixed.size(); ++wire) {
            const auto at = [&](std::size_t own, std::size_t rest) {
                const auto with = [&](std::size_t r, std::size_t bit) {
                    return (r >> wire << (wire + 1)) | bit << wire | (r & (power(wire) - 1));
                };
                return of.entries[with(rest / half, own / 2) * size + with(rest % half, own % 2)];
            };
            std::size_t own = 0, rest = 0;
            for (std::size_t k = 0; k < 4; ++k)
                for (std::size_t j = 0; j < half * half; ++j)
                    if (std::abs(at(k, j)) > std::abs(at(own, rest))) own = k, rest = j;
            Blocks one, others;
            one.mixed = {of.mixed[wire]}, others.mixed = of.mixed;
            others.mixed.erase(others.mixed.begin() + static_cast<std::ptrdiff_t>(wire));
            double norm = 0;
            for (std::size_t k = 0; k < 4; ++k) norm += std::norm(at(k, rest));
            for (std::size_t k = 0; k < 4; ++k) one.entries.push_back(at(k, rest) / std::sqrt(norm / 2));
            for (std::size_t j = 0; j < half * half; ++j) others.entries.push_back(at(own, j) / one.entries[own]);
            bool is_product = true;
            for (std::size_t k = 0; k < 4 && is_product; ++k)
                for (std::size_t j = 0; j < half * half && is_product; ++j)
                    is_product = none(at(k, j) - one.entries[k] * others.entries[j]);
            if (is_product) return find(one) && find(others);
        }
        return false;
    }

    bool clifford(const Blocks& of) {
        LocalClifford found;
        if (!find_clifford(of.matrix(0), static_cast<int>(of.mixed.size()), tolerance_, found)) return false;
        out_.phase += found.phase, none(found.off);
        for (const QuarterTurn& one : found.turns) {
            LocalPauli on;
            for (std::size_t k = 0; k < of.mixed.size(); ++k) {
                on.x |= static_cast<std::uint32_t>((one.pauli.x >> k & 1) << of.mixed[k]);
                on.z |= static_cast<std::uint32_t>((one.pauli.z >> k & 1) << of.mixed[k]);
            }
            out_.rotations.push_back({on, one.quarters * pi / 2});
        }
        return true;
    }

    double tolerance_;
    Product& out_;
};

}  // namespace

double add_turn(const Turn& turn, int wire, double tolerance, std::vector<LocalRotation>& to) {
    const Rotations found = fewest_rotations(turn, z_first, tolerance);
    for (int k = 0; k < found.num_generic; ++k) {
        const AxisRotation& one = found.generic[static_cast<std::size_t>(k)];
        to.push_back({on_wire(wire, one.axis), one.angle});
    }
    for (int k = 0; k < found.num_clifford; ++k) {
        const Rotations::Quarters& one = found.clifford[static_cast<std::size_t>(k)];
        to.push_back({on_wire(wire, one.axis), one.quarters * pi / 2});
    }
    return found.off;
}

bool find_product(const Operation& operation, double tolerance, Product& out) {
    out.rotations.clear(), out.phase = out.off = 0;
    if (operation.reads + operation.controls > thresholds.selectors || operation.mixes > most_mixed) return false;
    return Finder(tolerance, out).find(Blocks(operation));
}

}  // namespace qx::form
