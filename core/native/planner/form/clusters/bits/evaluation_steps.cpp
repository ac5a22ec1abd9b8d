// What some pieces do in all, written as few steps.

#include <algorithm>
#include <numbers>

#include "planner/form/clusters/bits/evaluation.hpp"

namespace qx::form {

namespace {

constexpr double pi = std::numbers::pi, rounding = 1e-12;
constexpr std::size_t most_written = 48;  // terms of what is written

// A turn as e^{i phase} and a phase about an axis, so that the first is 1 where that can be.
struct AxisPhase {
    double phase = 0, angle = 0;
    Axis axis{0, 0, 1};
};

AxisPhase axis_phase(const Matrix2& turn) {
    const double mean = std::arg(turn[0] * turn[3] - turn[1] * turn[2]) / 2;
    Matrix2 own = turn;
    for (Complex& one : own) one *= std::polar(1.0, -mean);
    const double cosine = (own[0] + own[3]).real() / 2;
    Axis sine{-(own[1] + own[2]).imag() / 2, (own[2] - own[1]).real() / 2, -(own[0] - own[3]).imag() / 2};
    const double length = std::sqrt(dot(sine, sine));
    AxisPhase out;
    if (length < rounding) {
        out.phase = cosine > 0 ? mean : mean + pi;
        return out;
    }
    for (std::size_t k = 0; k < 3; ++k) out.axis[k] = sine[k] / length;
    out.angle = 2 * std::atan2(length, cosine);
    out.phase = short_way(mean - out.angle / 2);
    if (const double other = short_way(mean + out.angle / 2); std::fabs(other) < std::fabs(out.phase))
        out.phase = other, out.angle = -out.angle, out.axis = -out.axis;
    out.angle = short_way(out.angle);
    return out;
}

}  // namespace

// Writes flips of bits as ones under the control of others, of which the bits with which it began are known again when
// they are written. Conditions become polynomials of the bits at the end.
bool Evaluation::write_flips(std::vector<Polynomial>& bits, std::vector<std::vector<Polynomial>>& conditions,
                             std::vector<BitStep>& to) const {
    for (;;) {
        int best = -1;
        Polynomial flip;
        bool any = false;
        each(known_, [&](int wire) {
            const Wire& own = wires_[static_cast<std::size_t>(wire)];
            Polynomial now = bits[static_cast<std::size_t>(wire)] ^ own.begins;
            if (now.is_zero()) return;
            any = true;
            if (now.reads(wire) || (best >= 0 && now.size() >= flip.size())) return;
            best = wire, flip = std::move(now);
        });
        if (!any) return true;
        if (best < 0 || flip.size() > most_written) return false;
        const Wire& own = wires_[static_cast<std::size_t>(best)];
        for (const JointPhase& one : few_products(flip)) to.push_back({one.bits, one.values, pi, best, own.x});
        bits[static_cast<std::size_t>(best)] = own.begins;
        if (!own.begins.reads(best)) continue;
        bool fits = true;
        const auto flipped = [&](Polynomial& of) {
            if (!of.reads(best)) return;
            std::optional<Polynomial> now = of.with_flipped(best, flip);
            fits = fits && now;
            if (now) of = std::move(*now);
        };
        for (Polynomial& one : bits)
            if (&one != &bits[static_cast<std::size_t>(best)]) flipped(one);
        for (std::vector<Polynomial>& some : conditions) std::for_each(some.begin(), some.end(), flipped);
        if (!fits) return false;
    }
}

// Writes the turns that wait on a wire: the commonest one for all, and each other one under its condition.
bool Evaluation::write_turns(const Wire& of, int wire, std::vector<BitStep>& to) {
    std::vector<std::pair<Matrix2, Values>> kinds;
    for (std::size_t k = 0; k < of.turns.size(); ++k) {
        const auto same = [&](const auto& one) { return is_same(one.first, of.turns[k]); };
        auto at = std::find_if(kinds.begin(), kinds.end(), same);
        if (at == kinds.end()) at = kinds.insert(at, {of.turns[k], Values(of.turns.size())});
        at->second[k] = true;
    }
    const auto number = [](const auto& one) { return std::count(one.second.begin(), one.second.end(), true); };
    const auto fewer = [&](const auto& one, const auto& other) { return number(one) < number(other); };
    std::swap(kinds[0], *std::max_element(kinds.begin(), kinds.end(), fewer));
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        const AxisPhase own = axis_phase(k ? kinds[k].first * adjoint(kinds[0].first) : kinds[0].first);
        const std::optional<Polynomial> where = k ? polynomial_of(of, kinds[k].second) : Polynomial(0);
        if (!where || where->reads(wire) || where->size() > most_written) return false;
        for (const bool turns : {true, false}) {
            BitPhases by;
            by.add(*where, turns ? own.angle : own.phase);
            const auto& joint = by.joint();
            if (!joint) return false;
            const auto put = [&](const JointPhase& one) {
                if (std::fabs(one.angle) > rounding)
                    to.push_back({one.bits, one.values, one.angle, turns ? wire : -1, own.axis});
            };
            put({0, 0, by.all});
            std::for_each(joint->begin(), joint->end(), put);
        }
    }
    return true;
}

// Writes the turns that wait on each wire before those of the wires that its conditions read, up to so many steps.
bool Evaluation::write_all_turns(const std::vector<std::vector<Polynomial>>& conditions, std::size_t most,
                                 std::vector<BitStep>& to) const {
    Mask left = 0;
    each(known_, [&](int wire) {
        const Wire& own = wires_[static_cast<std::size_t>(wire)];
        if (!own.conditions.empty() || !is_same(own.turns[0], identity2)) left |= unit(wire);
    });
    while (left) {
        if (joining(to) > most) return false;
        Mask read = 0;
        each(left, [&](int wire) {
            for (const Polynomial& one : conditions[static_cast<std::size_t>(wire)])
                for (const Mask term : one.terms()) read |= term;
        });
        if (!(left & ~read)) return false;
        const int wire = lowest(left & ~read);
        const Written& own = written(wire, conditions[static_cast<std::size_t>(wire)]);
        if (!own.fits) return false;
        to.insert(to.end(), own.steps.begin(), own.steps.end());
        left &= ~unit(wire);
    }
    return true;
}

const Evaluation::Written& Evaluation::written(int wire, const std::vector<Polynomial>& conditions) const {
    Written& out = written_[static_cast<std::size_t>(wire)];
    if (out.is_known && out.conditions == conditions) return out;
    Wire own = wires_[static_cast<std::size_t>(wire)];
    own.conditions = conditions, out = {true, false, conditions};
    out.fits = write_turns(own, wire, out.steps);
    return out;
}

std::size_t Evaluation::fewest() const {
    std::size_t out = phases_.size() > 0;
    each(known_, [&](int wire) {
        const Wire& own = wires_[static_cast<std::size_t>(wire)];
        out += !(own.bit == own.begins) + !own.conditions.empty();
    });
    return out;
}

std::size_t joining(const std::vector<BitStep>& steps) {
    const auto joins = [](const BitStep& one) { return count(one.wires()) > 1; };
    return static_cast<std::size_t>(std::count_if(steps.begin(), steps.end(), joins));
}

// Gives wires without a frame one in which the first turn that waits is a phase: where all are about its axis, they are
// phases of bits.
void Evaluation::add_last_frames() {
    each(known_ & ~with_frames_, [&](int wire) {
        const Wire& own = wires_[static_cast<std::size_t>(wire)];
        const Matrix2 same = own.turns[0];
        for (const Matrix2& turn : own.turns)
            if (const AxisPhase apart = axis_phase(turn * adjoint(same)); std::fabs(apart.angle) > rounding)
                return add_frame(wire, apart.axis);
    });
}

std::optional<std::vector<BitStep>> Evaluation::steps(std::size_t most) const {
    const std::optional<std::vector<JointPhase>>& phases = phases_.joint();
    if (!phases) return {};
    std::vector<BitStep> out;
    for (const JointPhase& one : *phases) out.push_back({one.bits, one.values, one.angle});
    std::size_t terms = 0;
    for (const Wire& own : wires_) terms += own.bit.size();
    work_ += 4 * (terms + phases->size() * phases->size());
    if (terms > wires_.size() + most_written || joining(out) > most) return {};
    std::vector<Polynomial> bits;
    std::vector<std::vector<Polynomial>> conditions;
    for (const Wire& own : wires_) bits.push_back(own.bit), conditions.push_back(own.conditions);
    if (!write_flips(bits, conditions, out) || !write_all_turns(conditions, most, out) || joining(out) > most) return {};
    return out;
}

std::optional<InAll> Evaluation::in_all(std::size_t most) const {
    Evaluation all = *this;
    all.add_last_frames();
    const auto steps = all.steps(most);
    work_ += all.work_ + all.phases_.work() - work_ - phases_.work();
    if (!steps) return {};
    InAll out{{}, all.phases_.all};
    for (const BitStep& step : *steps) {
        AxisPiece piece{step.wires(), {}, step.angle};
        each(piece.wires, [&](int wire) {
            const Axis& z = all.wires_[static_cast<std::size_t>(wire)].z;
            piece.axes.push_back(wire == step.target ? step.axis : step.values >> wire & 1 ? z : -z);
        });
        out.pieces.push_back(std::move(piece));
    }
    return out;
}

}  // namespace qx::form
