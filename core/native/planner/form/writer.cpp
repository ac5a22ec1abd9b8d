// A form written out as gates.

#include "planner/form/writer.hpp"

#include "base/export.hpp"
#include "base/owned.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr double pi = 3.14159265358979323846;

bool is_diagonal(const Pauli& of) { return !of.x; }

// Lets a gate act on a state, and returns its phase beside that of quarter turns, in eighths of a turn.
int act(const Gate& gate, StabilizerState& on) {
    int out = 0;
    const auto turn = [&](Mask x, Mask z, int quarters) { on.turn({x, z}, quarters & 7); };
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
            case Gate::phase: break;
        }
    });
    return out;
}

}  // namespace

Writer::Writer(const Form& form, Int most_changes) : phase(form.phase), sums_(form.sums()), left_(most_changes) {
    for (const Rotation& one : form.rotations) waiting_.push_back({{one.pauli, false}, one.angle});
    const Tableau& tableau = form.tableau();
    for (int wire = 0; wire < tableau.wires(); ++wire) {
        const Mask *x = tableau.x_row(wire), *z = tableau.z_row(wire);
        x_.push_back({{x[0], x[1]}, tableau.x_negative(wire)});
        z_.push_back({{z[0], z[1]}, tableau.z_negative(wire)});
    }
}

Writer::State Writer::advance() {
    run();
    if (begin_ == waiting_.size()) {
        finish();
        return State::done;
    }
    if (left_-- == 0) return State::given_up;
    choose();
    return State::busy;
}

std::size_t Writer::looked_at() const {
    return begin_ +
           static_cast<std::size_t>(thresholds.rotations_looked_at.at_most(static_cast<Int>(waiting_.size() - begin_)));
}

// Writes all diagonal rotations that nothing is in the way of, of those that are looked at. What is in the way flips wires,
// so it stays itself.
void Writer::run() {
    for (std::size_t ran = 1; ran;) {
        std::size_t to = looked_at();
        for (std::size_t k = to; k-- > begin_;) {  // from the end, so that what stays lies together
            const Waiting one = waiting_[k];
            const Pauli& own = one.string.pauli;
            bool free = is_diagonal(own);
            for (std::size_t j = begin_; free && j < k; ++j) free = !is_odd(waiting_[j].string.pauli.x & own.z);
            if (free) gates.push_back({Gate::phase, 0, own.z, one.string.negative ? -one.angle : one.angle});
            else waiting_[--to] = one;
        }
        ran = to - begin_;
        begin_ = to;
    }
}

// Changes the frame so that one of the first strings is diagonal.
void Writer::choose() {
    ways_.clear();
    int found = 0;
    for (std::size_t k = begin_; k < looked_at() && found < thresholds.strings_tried; ++k) {
        bool first = true;
        for (std::size_t j = begin_; first && j < k; ++j)
            first = !anticommute(waiting_[j].string.pauli, waiting_[k].string.pauli);
        if (first) ways(waiting_[k].string.pauli), ++found;
    }
    const Way* best = nullptr;
    double most = -1;
    for (const Way& way : ways_) {
        const double own = score(way);
        if (own > most || (own == most && way.gates() < best->gates())) best = &way, most = own;
    }
    take(*best);
}

// Adds ways to make a string diagonal, those of fewer gates first.
void Writer::ways(const Pauli& string) {
    const Mask y = string.x & string.z;
    ways_.push_back({y, string.x});
    if (count(string.x) == 1) return;
    Mask pivots = unit(highest(string.x));
    int left = 3;
    each(string.x, [&](int wire) {
        if (left-- > 0) pivots |= unit(wire);
    });
    each(pivots, [&](int wire) { ways_.push_back({y, unit(wire), string.x & ~unit(wire), wire}); });
}

// How many rotations would run behind a way, for each H.
double Writer::score(const Way& way) const {
    Mask flips[64];
    const Int most = std::min<Int>(64, thresholds.strings_in_the_way);
    Int waits = 0;
    int found = 0;
    for (std::size_t k = begin_, end = looked_at(); k < end; ++k) {
        Pauli of = waiting_[k].string.pauli;
        of.z ^= of.x & way.y;
        if (of.x >> way.pivot & 1) of.x ^= way.targets;
        if (is_odd(of.z & way.targets)) of.z ^= unit(way.pivot);
        const Mask x = (of.x & ~way.h) | (of.z & way.h);
        if (x) {
            if (waits < most) flips[waits++] = x;
            continue;
        }
        const Mask z = (of.z & ~way.h) | (of.x & way.h);
        bool free = true;
        for (Int j = 0; free && j < waits; ++j) free = !is_odd(flips[j] & z);
        found += free;
    }
    return found / (count(way.h) + 0.5);
}

void Writer::take(const Way& way) {
    if (way.y) write({Gate::sdg, 0, way.y});
    if (way.targets) write({Gate::cx, way.pivot, way.targets});
    write({Gate::h, 0, way.h});
}

void Writer::write(const Gate& gate) {
    gates.push_back(gate);
    for (std::size_t k = begin_; k < waiting_.size(); ++k) pass(gate, waiting_[k].string);
    for (SignedPauli& image : x_) pass(gate, image);
    for (SignedPauli& image : z_) pass(gate, image);
}

// Writes the operator at the end. What it is to do to |0…0⟩ tells the phase.
void Writer::finish() {
    StabilizerState state(static_cast<int>(x_.size()));
    const std::vector<Gate> left = clifford_gates(std::move(x_), std::move(z_));
    last = gates.size();
    gates.insert(gates.end(), left.begin(), left.end());
    int eighths = 0;
    for (const Gate& gate : gates) eighths += act(gate, state);
    phase.value = std::remainder(phase.value - (eighths + state.first_phase()) * (pi / 4), 2 * pi);
}

}  // namespace qx::form

// --- what Python calls; planning/form.py says what the integers mean -------------------------------------------------

// Returns a writer of a form that is done, which has no blocks. most_changes: as `Writer` takes them.
QX_EXPORT(writer_begin, (qx::Int form, qx::Int most_changes)) {
    return qx::Owned<qx::form::Writer>::make(
        [&] { return new qx::form::Writer(qx::Owned<qx::form::Form>::at(form), most_changes); });
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

// Returns how many gates are written.
QX_EXPORT(writer_count, (qx::Int writer)) {
    return static_cast<qx::Int>(qx::Owned<qx::form::Writer>::at(writer).gates.size());
}

// Returns how many of them stand before the operator at the end.
QX_EXPORT(writer_last, (qx::Int writer)) { return static_cast<qx::Int>(qx::Owned<qx::form::Writer>::at(writer).last); }

// Writes kind, wire and mask of each gate, and the angles of all, and then the phase: of what varies, the number alone.
QX_EXPORT(writer_write, (qx::Int writer, qx::Int* numbers, double* angles)) {
    const qx::form::Writer& made = qx::Owned<qx::form::Writer>::at(writer);
    for (const qx::form::Gate& gate : made.gates) {
        for (const qx::Int number : {qx::Int{gate.kind}, gate.wire, static_cast<qx::Int>(gate.mask)}) *numbers++ = number;
        *angles++ = gate.angle.value;
    }
    *angles = made.phase.value;
    return 0;
}

// Returns how many multiples of phases there are in the angles of all gates and in the phase.
QX_EXPORT(writer_multiples, (qx::Int writer)) {
    const qx::form::Writer& made = qx::Owned<qx::form::Writer>::at(writer);
    qx::Int out = 0;
    const auto one = [&](qx::form::Index, double) { ++out; };
    for (const qx::form::Gate& gate : made.gates) made.multiples(gate.angle, one);
    made.multiples(made.phase, one);
    return out;
}

// Writes of each of them the number of the gate, that of all gates for the phase, and the phase; and by what it is
// multiplied.
QX_EXPORT(writer_write_multiples, (qx::Int writer, qx::Int* places, double* by)) {
    const qx::form::Writer& made = qx::Owned<qx::form::Writer>::at(writer);
    qx::Int number = 0;
    const auto one = [&](qx::form::Index of, double multiple) {
        *places++ = number, *places++ = of;
        *by++ = multiple;
    };
    for (const qx::form::Gate& gate : made.gates) made.multiples(gate.angle, one), ++number;
    made.multiples(made.phase, one);
    return 0;
}

QX_EXPORT(writer_free, (qx::Int writer)) {
    qx::Owned<qx::form::Writer>::drop(writer);
    return 0;
}
