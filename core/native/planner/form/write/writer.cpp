// A form written out as gates.

#include "planner/form/write/writer.hpp"

#include <algorithm>

#include "base/export.hpp"
#include "base/owned.hpp"
#include "planner/form/write/compared/work.hpp"
#include "planner/form/write/phases/parities.hpp"
#include "planner/form/write/phases/shared_phases.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr int most_rounds = 4;

}  // namespace

// Lets a gate act on a state, and returns its phase beside that of quarter turns, in eighths of a turn.
int Writer::act(const Gate& gate, StabilizerState& on) const {
    int out = 0;
    const auto turn = [&](Mask x, Mask z, int quarters) { on.turn({x, z}, quarters & 7); };
    if (gate.kind == Gate::rotation) return on.turn({gate.mask, static_cast<Mask>(gate.wire)}, gate.quarters & 7), 0;
    if (gate.kind == Gate::controlled) {
        for (Index k = 0; k < gate.num_turns; ++k)
            turn(turns_[gate.turns + k].about.x, turns_[gate.turns + k].about.z, turns_[gate.turns + k].quarters);
        return 0;
    }
    each(gate.mask, [&](int wire) {
        const Mask own = unit(wire), control = unit(gate.wire);
        switch (gate.kind) {
            case Gate::h: turn(0, own, 1), turn(own, 0, 1), turn(0, own, 1), out += 2; break;
            case Gate::s: turn(0, own, 1), out += 1; break;
            case Gate::sdg: turn(0, own, -1), out -= 1; break;
            case Gate::x: turn(own, 0, 2), out += 2; break;
            case Gate::z: turn(0, own, 2), out += 2; break;
            case Gate::cx: turn(0, control, 1), turn(own, 0, 1), turn(own, control, -1), out += 1; break;
            case Gate::cz: turn(0, control, 1), turn(0, own, 1), turn(0, control | own, -1), out += 1; break;
            case Gate::swap:
                for (const auto& [from, onto] : {std::pair{control, own}, std::pair{own, control}, std::pair{control, own}})
                    turn(0, from, 1), turn(onto, 0, 1), turn(onto, from, -1), out += 1;
                break;
            case Gate::rotation:
            case Gate::controlled:
            case Gate::flip:
            case Gate::matrix:
            case Gate::phase: break;
        }
    });
    return out;
}

Writer::Writer(const Form& form, Int microseconds, Manner manner, Int within, double cx_ratio, double between)
    : phase(form.phase), form_(form), sums_(form.sums()), cx_ratio_(cx_ratio), between_(between),
      microseconds_(microseconds), within_(within), manner_(manner) {
    if (manner == Manner::clusters) {
        clusters_ = std::make_unique<Clusters>(form, within);
        phase = form.read_phase;
        return;
    }
    if (manner == Manner::between) {
        wires_ = std::make_unique<Wires>(form, sums_, false);
        phase = form.read_phase;
        return;
    }
    if (form.only_read()) return;
    for (const Rotation& one : form.rotations) waiting_.push_back({{one.pauli, false}, one.angle, 0, one.layer});
    if (manner == Manner::grown) {  // where controls would be strings that have to become diagonal, too
        groupings_ = 2, zeros_ = below(form.tableau().wires());
        sort();
        left_to_ = waiting_.size();
    }
    const Tableau& tableau = form.tableau();
    for (int wire = 0; wire < tableau.wires(); ++wire) {
        const Mask *x = tableau.x_row(wire), *z = tableau.z_row(wire);
        x_.push_back({{x[0], x[1]}, tableau.x_negative(wire)});
        z_.push_back({{z[0], z[1]}, tableau.z_negative(wire)});
    }
}

Writer::State Writer::advance() {
    if (clusters_) return clusters();
    if (wires_) {
        if (between_gates()) return State::busy;
        finish();
        return State::done;
    }
    if (form_.only_read()) return State::given_up;  // for there is no list
    if (manner_ == Manner::grown && !form_.on_zeros()) return State::given_up;
    if (groupings_ < 2) {
        if (!grouping_) grouping_ = std::make_unique<Grouping>(std::move(waiting_), controls_, x_, z_, !groupings_);
        if (!grouping_->advance()) waiting_ = grouping_->result(), grouping_.reset(), ++groupings_;
        return State::busy;
    }
    if (left_to_ < waiting_.size()) {
        leave_quarters();
        if (left_to_ == waiting_.size() && left_any_ && ++rounds_ < most_rounds) left_to_ = 0, left_any_ = false;
        else if (left_to_ == waiting_.size()) sort();
        return State::busy;
    }
    run();
    if (begin_ == waiting_.size()) {
        finish();
        return State::done;
    }
    if (microseconds_ / ++changes_ < thresholds.change_microseconds) return State::given_up;
    if (manner_ == Manner::back || manner_ == Manner::grown || !stay()) there_and_back();
    return State::busy;
}

std::size_t Writer::looked_at() const {
    return begin_ +
           static_cast<std::size_t>(thresholds.rotations_looked_at.at_most(static_cast<Int>(waiting_.size() - begin_)));
}

// Tells whether a rotation commutes with all that wait before it. Two that do so in one frame do so in all, and so each two
// are compared once.
bool Writer::is_free(std::size_t place) {
    const Waiting& own = waiting_[place];
    Index& first = in_the_way_[own.number];
    if (first == own.number) return true;
    if (first != Angle::none && waits_[first]) return false;
    const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(begin_),
               end = waiting_.begin() + static_cast<std::ptrdiff_t>(place);
    const auto is_before = [](const Waiting& one, Index number) { return one.number < number; };
    for (auto other = first == Angle::none ? begin : std::lower_bound(begin, end, first, is_before); other != end; ++other)
        if (controls_.meet(*other, own)) return first = other->number, false;
    return first = own.number, true;
}

// Writes all diagonal rotations that nothing is in the way of, of those that are looked at, and those that flip one wire
// under controls. What is in the way of a diagonal one flips wires, so it stays itself.
void Writer::run() {
    for (std::size_t ran = 1; ran;) {
        std::size_t to = looked_at();
        for (std::size_t k = to; k-- > begin_;) {  // from the end, so that what stays lies together
            if (is_ready(waiting_[k]) && is_free(k)) {
                const Waiting one = waiting_[k];
                waits_[one.number] = false;
                rotate(one);
            } else if (--to != k) {
                waiting_[to] = waiting_[k];
            }
        }
        ran = to - begin_;
        begin_ = to;
    }
}

void Writer::rotate(const Waiting& rotation) {
    if (rotation.num_controls) return rotate_under_controls(rotation);
    const auto& [of, negative] = rotation.string;
    gates.push_back({Gate::rotation, static_cast<Int>(of.z), of.x, negative ? -rotation.angle : rotation.angle,
                     negative ? -rotation.quarters : rotation.quarters});
}

void Writer::write(const Gate& gate) {
    gates.push_back(gate);
    pass_all(gate);
}

// Lets a gate pass all that waits.
void Writer::pass_all(const Gate& gate) {
    for (std::size_t k = begin_; k < waiting_.size(); ++k) pass(gate, waiting_[k].string);
    for (SignedPauli& one : controls_.strings) pass(gate, one);
    for (SignedPauli& image : x_) pass(gate, image);
    for (SignedPauli& image : z_) pass(gate, image);
}

// Writes the operator at the end. What it is to do to |0…0⟩ tells the phase.
void Writer::finish() {
    StabilizerState state(static_cast<int>(x_.size()));
    const std::vector<Gate> left = fewer_phases(on_zeros(clifford_gates(std::move(x_), std::move(z_)), zeros_));
    gates = fewer_phases(gates);
    last = gates.size();
    gates.insert(gates.end(), left.begin(), left.end());
    int eighths = 0;
    for (const Gate& gate : gates) eighths += act(gate, state);
    // One manner leaves rotations, so that both are compared: on a CPU tables of few parities may take less time.
    if (manner_ != Manner::local) gates = shared_phases(std::move(gates), last, sums_, entries, phase.value);
    phase.value = std::remainder(phase.value - (eighths + state.first_phase()) * (pi / 4), 2 * pi);
}

}  // namespace qx::form

// --- what Python calls; planning/form.py says what the integers mean -------------------------------------------------

// Returns a writer of a form that is done, which has no blocks. All others are as `Writer` takes them.
QX_EXPORT(writer_begin,
          (qx::Int form, qx::Int microseconds, qx::Int manner, qx::Int within, double cx_ratio, double between)) {
    return qx::Owned<qx::form::Writer>::make([&] {
        return new qx::form::Writer(qx::Owned<qx::form::Form>::at(form), microseconds, qx::form::Manner{manner}, within,
                                    cx_ratio, between);
    });
}

// Writes on for a while; returns 1 while more is left, 0 when all is written, -1 if it has given up.
QX_EXPORT(writer_advance, (qx::Int writer, qx::Int milliseconds)) {
    return qx::Owned<qx::form::Writer>::change(writer, [&](qx::form::Writer& made) {
        using State = qx::form::Writer::State;
        return qx::worked_for(milliseconds, [&] {
            const State state = made.advance();
            return qx::Int{state == State::busy ? 1 : state == State::done ? 0 : -1};
        });
    });
}

// Writes how many gates are written, how many of them stand before the operator at the end, and how many multiples of
// phases, conditions and entries of matrices all have.
QX_EXPORT(writer_counts, (qx::Int writer, qx::Int* out)) {
    const qx::form::Writer& made = qx::Owned<qx::form::Writer>::at(writer);
    qx::Int multiples = 0;
    const auto one = [&](qx::form::Index, double) { ++multiples; };
    for (const qx::form::Gate& gate : made.gates) made.multiples(gate.angle, one);
    made.multiples(made.phase, one);
    for (const std::size_t count : {made.gates.size(), made.last}) *out++ = static_cast<qx::Int>(count);
    *out++ = multiples;
    for (const std::size_t count : {made.conditions.size(), made.entries.size()}) *out++ = static_cast<qx::Int>(count);
    return 0;
}

// Writes how much work they are.
QX_EXPORT(writer_work, (qx::Int writer, double* out)) {
    const qx::form::Writer& made = qx::Owned<qx::form::Writer>::at(writer);
    *out = qx::form::work_of(made.gates);
    return 0;
}

// Writes kind, wire, mask and number of conditions of each gate, and the angles of all, and then the phase: of what varies,
// the number alone; of each multiple the number of the gate, that of all gates for the phase, and the phase, and by what it
// is multiplied; of each condition the parity and its value; and the entries of matrices row by row.
QX_EXPORT(writer_write, (qx::Int writer, qx::Int* numbers, double* angles, qx::Int* places, double* by, qx::Int* conditions,
                         void* entries)) {
    const qx::form::Writer& made = qx::Owned<qx::form::Writer>::at(writer);
    qx::Int number = 0;
    const auto write = [&](const qx::form::Angle& angle) {
        *angles++ = angle.value;
        made.multiples(angle, [&](qx::form::Index of, double multiple) {
            *places++ = number, *places++ = of;
            *by++ = multiple;
        });
        ++number;
    };
    for (const qx::form::Gate& gate : made.gates) {
        for (const qx::Int one :
             {qx::Int{gate.kind}, gate.wire, static_cast<qx::Int>(gate.mask), qx::Int{gate.num_conditions}})
            *numbers++ = one;
        write(gate.angle);
    }
    write(made.phase);
    for (const qx::form::Condition& one : made.conditions)
        *conditions++ = static_cast<qx::Int>(one.parity), *conditions++ = one.value;
    std::copy(made.entries.begin(), made.entries.end(), static_cast<qx::form::Complex*>(entries));
    return 0;
}

QX_EXPORT(writer_free, (qx::Int writer)) {
    qx::Owned<qx::form::Writer>::drop(writer);
    return 0;
}
