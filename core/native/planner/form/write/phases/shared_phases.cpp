// Phases of two wires that leave few turns of single ones.
//
// exp(-iθ/2 ZZ) is a phase by -2θ where both wires are 1, and exp(-iθ/2 Z) of each. Of controlled phases a transpiler makes
// ZZ, and one rotation about Z of all that a wire has between two gates that flip it: only what all of them are together
// tells that they were controlled phases, and of which wires 0 is read in place of 1, since X has been moved past them. That
// is a system of equations along all wires, solved for few unknowns at a time. Where both wires are 1 is a fourth of a
// state, and nothing while a wire is 0.

#include "planner/form/write/phases/shared_phases.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace qx::form {

namespace {

constexpr double quarter = 1.57079632679489661923, tolerance = 1e-12;
constexpr std::size_t most_unknown = 6;  // of an equation that is asked
constexpr int most_rounds = 64;

bool is_multiple(double angle, double of) { return std::fabs(std::remainder(angle, of)) < tolerance; }

// A wire between two gates that flip it.
struct Stretch {
    Angle turn;  // about Z of this wire
    std::vector<Index> pairs;  // rotations about Z of it and of another one
    bool varies = false, settles = false, written = false;
    int sign = 0;  // -1 if phases are where it is 0, 0 as long as that is not known
    Angle left;  // of its own turn, and of those that phases of two wires leave
    std::size_t last = 0;  // behind which gate it is written

    bool turns() const { return turn.varies() || !is_multiple(turn.value, quarter); }
};

// A rotation about Z of one wire, whose stretch is there twice, or of two; or a gate S, S† or Z, beside a phase.
struct Turned {
    std::size_t gate;
    Angle angle;
    std::array<int, 2> wires;
    std::array<std::size_t, 2> on;
    bool is_pair() const { return wires[0] != wires[1]; }
    std::size_t ends() const { return is_pair() ? 2 : 1; }
};

Mask flipped(const Gate& gate) {
    switch (gate.kind) {
        case Gate::s:
        case Gate::sdg:
        case Gate::z:
        case Gate::cz:
        case Gate::swap:
        case Gate::phase: return 0;
        case Gate::h:
        case Gate::x:
        case Gate::cx:
        case Gate::rotation:
        case Gate::controlled:
        case Gate::flip:
        case Gate::matrix: break;
    }
    return gate.mask;
}

int quarters(const Gate& gate) {
    return gate.kind == Gate::s ? 1 : gate.kind == Gate::z ? 2 : gate.kind == Gate::sdg ? -1 : 0;
}

class Stretches {
  public:
    Stretches(const std::vector<Gate>& gates, std::size_t last, Sums& sums)
        : gates_(gates), last_(last), sums_(sums), all_(64) {
        std::array<std::size_t, 64> now;
        for (std::size_t wire = 0; wire < now.size(); ++wire) now[wire] = wire;
        for (std::size_t k = 0; k < gates.size(); ++k) {
            const Gate& gate = gates[k];
            if (gate.kind == Gate::swap)
                std::swap(now[static_cast<std::size_t>(gate.wire)], now[static_cast<std::size_t>(lowest(gate.mask))]);
            each(flipped(gate), [&](int wire) {
                now[static_cast<std::size_t>(wire)] = all_.size();
                all_.emplace_back();
            });
            const Mask about = static_cast<Mask>(gate.wire);
            const auto add = [&](int first, int last, const Angle& angle) {
                const std::array<int, 2> wires{first, last};
                turned_.push_back(
                    {k, angle, wires, {now[static_cast<std::size_t>(first)], now[static_cast<std::size_t>(last)]}});
                const Turned& one = turned_.back();
                for (std::size_t end = 0; end < one.ends(); ++end) {
                    Stretch& own = all_[one.on[end]];
                    own.varies |= angle.varies();
                    if (one.is_pair()) own.pairs.push_back(static_cast<Index>(turned_.size() - 1));
                    else own.turn = sums.plus(own.turn, angle);
                }
            };
            if (const double turn = quarter * quarters(gate); turn != 0)
                each(gate.mask, [&](int wire) { add(wire, wire, {turn}); });
            else if (k < last && gate.kind == Gate::rotation && !gate.mask && count(about) <= 2)
                add(lowest(about), highest(about), gate.angle);
        }
    }

    // Finds the pairs that are phases: those that leave no turn on a wire that had none. Returns whether there are any.
    bool settle() {
        solve();
        for (std::size_t k = 0; k < all_.size(); ++k) all_[k].settles = may_settle(k) && is_multiple(left(k), quarter);
        for (bool changed = true; changed;) {
            changed = false;
            for (const Turned& pair : turned_)
                for (std::size_t end = 0; end < 2; ++end)
                    if (Stretch& own = all_[pair.on[end]]; pair.is_pair() && own.settles && !may_share(pair))
                        own.settles = false, changed = true;
        }
        return std::any_of(turned_.begin(), turned_.end(), [&](const Turned& one) { return is_shared(one); });
    }

    // Returns the gates anew, and adds the entries of their phases, and what all of them have in common.
    std::vector<Gate> written(std::size_t& last, std::vector<Complex>& entries, double& phase) {
        each_moved([&](Stretch& own, std::size_t gate, const Angle&) {
            own.written = true;
            if (gate < last_) own.last = std::max(own.last, gate);
        });
        each_moved([&](Stretch& own, std::size_t, const Angle& angle) { own.left = sums_.plus(own.left, angle); });
        std::vector<Gate> out;
        auto next = turned_.begin();
        for (std::size_t k = 0; k < gates_.size(); ++k) {
            if (k == last_) last = out.size();
            Gate gate = gates_[k];
            bool stays = true;
            std::vector<Gate> behind;
            for (; next != turned_.end() && next->gate == k; ++next) {
                const Turned& one = *next;
                if (is_shared(one)) {
                    Mask values = 0;
                    for (std::size_t end = 0; end < 2; ++end)
                        if (all_[one.on[end]].sign >= 0) values |= unit(one.wires[end]);
                    const double angle = sign(one, 0) * sign(one, 1) * one.angle.value;
                    gate = {Gate::phase, static_cast<Int>(values), static_cast<Mask>(gate.wire)};
                    entries.push_back(std::polar(1.0, -2 * angle));
                    phase += angle / 2;
                } else if (!one.is_pair() && all_[one.on[0]].written) {
                    if (gate.kind != Gate::rotation) gate.mask &= ~unit(one.wires[0]), phase += one.angle.value / 2;
                    stays = gate.mask != 0;
                }
                for (std::size_t end = 0; end < one.ends(); ++end) {
                    const Stretch& own = all_[one.on[end]];
                    if (!own.written || own.last != k) continue;
                    if (!own.left.varies() && is_multiple(own.left.value, 4 * quarter)) phase += own.left.value / 2;
                    else behind.push_back({Gate::rotation, static_cast<Int>(unit(one.wires[end])), 0, own.left});
                }
            }
            if (stays) out.push_back(gate);
            out.insert(out.end(), behind.begin(), behind.end());
        }
        if (last_ == gates_.size()) last = out.size();
        return out;
    }

  private:
    int sign(const Turned& one, std::size_t end) const { return all_[one.on[end]].sign < 0 ? -1 : 1; }
    bool is_free(std::size_t of) const { return all_[of].settles || all_[of].turns(); }
    bool may_share(const Turned& pair) const { return !pair.angle.varies() && is_free(pair.on[0]) && is_free(pair.on[1]); }
    // Eighth turns are left to rules that know T, but where a wire settles.
    bool is_shared(const Turned& one) const {
        const bool settles = all_[one.on[0]].settles || all_[one.on[1]].settles;
        return one.is_pair() && may_share(one) && (settles || !is_multiple(one.angle.value, quarter / 2));
    }
    // The turn that phases of two wires leave on a stretch.
    double left(std::size_t of) const {
        double out = all_[of].turn.value;
        for (const Index number : all_[of].pairs) {
            const Turned& pair = turned_[number];
            out += sign(pair, pair.on[0] == of) * pair.angle.value;
        }
        return out;
    }
    bool may_settle(std::size_t of) const {
        return !all_[of].varies && !all_[of].pairs.empty() && !is_multiple(all_[of].turn.value, quarter / 2);
    }

    // Finds signs that let stretches settle, as far as those of a few others tell.
    void solve() {
        for (const double period : {quarter, 4 * quarter, 2 * quarter}) {
            bool changed = true;
            for (int round = 0; changed && round < most_rounds; ++round) {
                changed = false;
                for (std::size_t k = 0; k < all_.size(); ++k) changed = (may_settle(k) && deduce(k, period)) || changed;
            }
        }
    }
    // Finds signs of stretches beside one that are the same in all ways in which that one settles; returns whether there
    // are any.
    bool deduce(std::size_t of, double period) {
        std::vector<std::pair<std::size_t, double>> unknown;
        double known = all_[of].turn.value;
        for (const Index number : all_[of].pairs) {
            const Turned& pair = turned_[number];
            const std::size_t other = pair.on[pair.on[0] == of];
            if (all_[other].sign) known += all_[other].sign * pair.angle.value;
            else if (unknown.push_back({other, pair.angle.value}); unknown.size() > most_unknown) return false;
        }
        Mask always = unit(static_cast<int>(unknown.size())) - 1, never = always;
        for (Mask negative = 0; negative < unit(static_cast<int>(unknown.size())); ++negative) {
            double sum = known;
            for (std::size_t k = 0; k < unknown.size(); ++k)
                sum += negative >> k & 1 ? -unknown[k].second : unknown[k].second;
            if (is_multiple(sum, period)) always &= negative, never &= ~negative;
        }
        if (always & never) return false;  // it settles in no way
        each(always | never,
             [&](int k) { all_[unknown[static_cast<std::size_t>(k)].first].sign = always >> k & 1 ? -1 : 1; });
        return always | never;
    }
    // Calls a function with each stretch that is left with another turn, and the gates and angles that this is of.
    template <class Visit>
    void each_moved(const Visit& visit) {
        for (const Turned& one : turned_)
            for (std::size_t end = 0; end < 2; ++end)
                if (is_shared(one)) visit(all_[one.on[end]], one.gate, Angle{sign(one, 1 - end) * one.angle.value});
        for (const Turned& one : turned_)
            if (Stretch& own = all_[one.on[0]]; !one.is_pair() && own.written) visit(own, one.gate, one.angle);
    }

    const std::vector<Gate>& gates_;
    std::size_t last_;
    Sums& sums_;
    std::vector<Stretch> all_;  // those that wires begin with, and then the others
    std::vector<Turned> turned_;
};

}  // namespace

std::vector<Gate> shared_phases(std::vector<Gate> gates, std::size_t& last, Sums& sums, std::vector<Complex>& entries,
                                double& phase) {
    if (Stretches found(gates, last, sums); found.settle()) return found.written(last, entries, phase);
    return gates;
}

}  // namespace qx::form
