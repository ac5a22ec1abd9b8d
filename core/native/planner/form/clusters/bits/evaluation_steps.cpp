// What some pieces do in all, written as few steps.

#include <algorithm>
#include <numbers>

#include "planner/form/clusters/bits/evaluation.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr double pi = std::numbers::pi, rounding = 1e-12, nearly = 1e-9;
constexpr std::size_t pieces_at_first = 188;  // as for so many more is what all is looked at
// So many times as many where so few things are left to be written, and where many pieces for each of these have acted.
constexpr std::size_t few = 2, steps_for_few = 10, steps_of_many = 100;

}  // namespace

// Writes flips of bits as ones under the control of others, of which the bits with which it began are known again when
// they are written. Conditions become functions of the bits at the end.
bool Evaluation::write_flips(std::vector<Diagram>& bits, std::vector<Conditions>& conditions, std::size_t most,
                             std::vector<BitStep>& to) const {
    for (;;) {
        int best = -1;
        std::size_t fewest = static_cast<std::size_t>(thresholds.written_products) + 1;
        Diagram flip;
        std::size_t left = 0, joins = 0;
        each(known_, [&](int wire) {
            const Diagram now =
                diagrams_->sum(bits[static_cast<std::size_t>(wire)], wires_[static_cast<std::size_t>(wire)].begins);
            if (now.is_zero()) return;
            ++left, joins += !now.is_one();
            if (diagrams_->reads(now, wire)) return;
            const std::size_t products = diagrams_->number_of_products(now);
            if (products < fewest) best = wire, fewest = products, flip = now;
        });
        thresholds.written_products.met(left && best < 0);
        if (!diagrams_->fits() || !left || best < 0) return diagrams_->fits() && !left;
        if (needed_ = joining(to) + joins; needed_ > most) return false;
        for (const JointPhase& one : diagrams_->few_products(flip))
            to.push_back({one.bits, one.values, pi, best, wires_[static_cast<std::size_t>(best)].x});
        bits[static_cast<std::size_t>(best)] = wires_[static_cast<std::size_t>(best)].begins;
        if (!diagrams_->reads(wires_[static_cast<std::size_t>(best)].begins, best)) continue;
        const auto flip_in = [&](Diagram& one) { one = diagrams_->flipped(one, best, flip); };
        for (std::size_t wire = 0; wire < bits.size(); ++wire)
            if (static_cast<int>(wire) != best) flip_in(bits[wire]);
        for (Conditions& some : conditions) std::for_each(some.begin(), some.end(), flip_in);
    }
}

// Writes the turns that wait on a wire: the commonest one for all, and each other one under its condition.
bool Evaluation::write_turns(const Wire& of, int wire, std::vector<BitStep>& to) const {
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
        const Diagram where = k ? with_values(of, kinds[k].second) : Diagram::one();
        if (!diagrams_->fits() || diagrams_->reads(where, wire)) return false;
        for (const bool turns : {true, false}) {
            BitPhases by(*diagrams_);
            by.add(where, turns ? own.angle : own.phase);
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

// Writes turns about one axis, and the one that is the same for all.
bool Evaluation::write_about(const Wire& of, int wire, std::vector<BitStep>& to) const {
    const std::vector<std::pair<Diagram, double>> parts = of.about->angles.parts();
    BitPhases by(*diagrams_);
    by.all = of.about->angles.all;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        if (diagrams_->reads(of.conditions[k], wire)) return false;
        by.add(of.conditions[k], parts[k].second);
    }
    const auto& joint = by.joint();
    if (!joint || !diagrams_->fits()) return false;
    for (const JointPhase& one : *joint) to.push_back({one.bits, one.values, one.angle, wire, of.about->axis});
    const AxisPhase behind = axis_phase(of.turns[0]);
    to.push_back({0, 0, by.all, wire, of.about->axis});
    to.push_back({0, 0, behind.angle, wire, behind.axis});
    to.push_back({0, 0, behind.phase});
    return true;
}

// Writes the turns that wait on each wire before those of the wires that its conditions read, up to so many steps.
bool Evaluation::write_all_turns(const std::vector<Conditions>& conditions, std::size_t before, std::size_t most,
                                 std::vector<BitStep>& to) const {
    Mask left = 0;
    each(known_, [&](int wire) {
        const Wire& own = wires_[static_cast<std::size_t>(wire)];
        if (own.waits() || !is_same(own.turns[0], identity2)) left |= unit(wire);
    });
    while (left) {
        if (needed_ = before + joining(to); needed_ > most) return false;
        Mask read = 0;
        each(left, [&](int wire) {
            for (const Diagram one : conditions[static_cast<std::size_t>(wire)]) read |= diagrams_->read(one);
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

const Evaluation::Written& Evaluation::written(int wire, const Conditions& conditions) const {
    Written& out = written_[static_cast<std::size_t>(wire)];
    if (out.is_known && out.conditions == conditions) return out;
    Wire own = wires_[static_cast<std::size_t>(wire)];
    own.conditions = conditions, out = {true, false, out.fewest, conditions};
    out.fits = own.about ? write_about(own, wire, out.steps) : write_turns(own, wire, out.steps);
    out.is_known = diagrams_->fits();
    return out;
}

// Returns the functions that tell the turns that wait on a wire.
Evaluation::Conditions Evaluation::conditions_of(const Wire& wire) const {
    Conditions out = wire.conditions;
    if (!wire.about) return out;
    for (const auto& [where, angle] : wire.about->angles.parts()) out.push_back(where);
    return out;
}

// One for each kind of turns that waits, up to phases, but the commonest.
std::size_t Evaluation::fewest_turns(int wire) const {
    std::size_t& out = written_[static_cast<std::size_t>(wire)].fewest;
    if (out) return out;
    std::vector<const Matrix2*> kinds;
    for (const Matrix2& turn : wires_[static_cast<std::size_t>(wire)].turns) {
        const auto same = [&](const Matrix2* one) {
            Complex trace = 0;
            for (std::size_t k = 0; k < 4; ++k) trace += turn[k] * std::conj((*one)[k]);
            return std::abs(trace) > 2 - nearly;
        };
        if (std::none_of(kinds.begin(), kinds.end(), same)) kinds.push_back(&turn);
    }
    return out = std::max<std::size_t>(2, kinds.size()) - 1;
}

std::size_t Evaluation::fewest() const {
    std::size_t out = phases_.size() > 0;
    each(known_, [&](int wire) {
        const Wire& own = wires_[static_cast<std::size_t>(wire)];
        out += !(own.bit == own.begins) + own.waits();
    });
    return out;
}

std::size_t Evaluation::fewest_steps() const {
    std::size_t out = fewest();
    each(known_, [&](int wire) {
        if (wires_[static_cast<std::size_t>(wire)].waits()) out += fewest_turns(wire) - 1;
    });
    return out;
}

bool Evaluation::have_many_acted() const {
    const auto many = static_cast<std::size_t>(thresholds.many_pieces) * fewest();
    return thresholds.many_pieces.met(pieces_ >= many);
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

// Writes phases by the bits at the beginning, or at the end, flips between these, and the turns that wait.
std::optional<std::vector<BitStep>> Evaluation::steps(std::size_t most) const {
    needed_ = 0;
    std::vector<BitStep> flips, turns;
    std::vector<Diagram> bits;
    std::vector<Conditions> conditions;
    for (const Wire& own : wires_) bits.push_back(own.bit), conditions.push_back(conditions_of(own));
    const std::vector<std::pair<Diagram, double>> parts = phases_.parts();
    Conditions& at_end = conditions.emplace_back();
    if (parts.size() <= thresholds.written_products)
        for (const auto& [where, angle] : parts) at_end.push_back(where);
    const auto does_not_fit = [&] { return needed_ = most + most / 4, std::nullopt; };  // nor soon
    if (!write_flips(bits, conditions, most, flips) || !write_all_turns(conditions, joining(flips), most, turns)) {
        if (!diagrams_->fits()) return does_not_fit();
        return {};
    }
    if (needed_ = joining(flips) + joining(turns); needed_ > most) return {};
    const std::optional<std::vector<JointPhase>>& first = phases_.joint();
    BitPhases behind(*diagrams_);
    for (std::size_t k = 0; k < at_end.size() && !flips.empty(); ++k) behind.add(at_end[k], parts[k].second);
    std::optional<std::vector<JointPhase>> last;
    if (!flips.empty() && at_end.size() == parts.size()) last = behind.joint();
    if (!diagrams_->fits() || (!first && !last)) return does_not_fit();
    const bool is_last = last && (!first || joining(*last) < joining(*first));
    std::vector<BitStep> out;
    const auto put = [&](const JointPhase& one) { out.push_back({one.bits, one.values, one.angle}); };
    if (!is_last) std::for_each(first->begin(), first->end(), put);
    out.insert(out.end(), flips.begin(), flips.end());
    if (is_last) std::for_each(last->begin(), last->end(), put), put({0, 0, behind.all});
    out.insert(out.end(), turns.begin(), turns.end());
    if (needed_ = joining(out); needed_ > most) return {};
    return out;
}

std::optional<InAll> Evaluation::in_all(std::size_t most) const {
    const auto differ = [&](const Wire& own) { return !own.conditions.empty(); };
    const std::size_t more = fewest() > few ? 1 : have_many_acted() ? steps_of_many : steps_for_few;
    diagrams_->allow(static_cast<std::size_t>(thresholds.all_entries) * (pieces_at_first + pieces_) * more);
    std::optional<InAll> out;
    if (with_frames_ == known_ || std::none_of(wires_.begin(), wires_.end(), differ)) {
        out = pieces(most);
    } else {
        Evaluation all = *this;
        all.add_last_frames();
        out = all.pieces(most);
        work_ += all.work_ + all.phases_.work() - work_ - phases_.work(), needed_ = all.needed_;
    }
    thresholds.all_entries.met(!diagrams_->fits());
    return out;
}

double Evaluation::off() const {
    double out = off_ + phases_.off;
    for (const Wire& own : wires_)
        if (own.about) out += own.about->angles.off;
    return out;
}

std::optional<InAll> Evaluation::pieces(std::size_t most) const {
    const auto steps = this->steps(most);
    if (!steps) return {};
    InAll out{{}, phases_.all, off()};
    for (const BitStep& step : *steps) {
        AxisPiece piece{step.wires(), {}, step.angle};
        each(piece.wires, [&](int wire) {
            const Axis& z = wires_[static_cast<std::size_t>(wire)].z;
            piece.axes.push_back(wire == step.target ? step.axis : step.values >> wire & 1 ? z : -z);
        });
        out.pieces.push_back(std::move(piece));
    }
    return out;
}

}  // namespace qx::form
