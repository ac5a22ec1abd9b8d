// A form written out in frames that stay: a string becomes diagonal by H on all wires that it flips, or by CX of one onto
// the others and one H. Of the first strings that may run, and of both ways for each, the one is taken that lets most of the
// next rotations run for each H.

#include "planner/form/write/writer.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

// Changes the frame so that one of the first strings is diagonal.
void Writer::choose() {
    ways_.clear();
    int found = 0;
    for (std::size_t k = begin_; k < looked_at() && found < thresholds.strings_tried; ++k) {
        if (!is_free(k)) continue;
        Pauli first = waiting_[k].string.pauli;  // or a control that is not diagonal
        const SignedPauli* controls = controls_.of(waiting_[k]);
        for (int j = waiting_[k].num_controls; j-- > 0;)
            if (controls[j].pauli.x) first = controls[j].pauli;
        ways(first), ++found;
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
    Int waits = 0;
    int found = 0;
    for (std::size_t k = begin_, end = looked_at(); k < end; ++k) {
        bool free = true;
        controls_.each(waiting_[k], [&](Pauli of) {
            of.z ^= of.x & way.y;
            if (of.x >> way.pivot & 1) of.x ^= way.targets;
            if (is_odd(of.z & way.targets)) of.z ^= unit(way.pivot);
            const Mask x = (of.x & ~way.h) | (of.z & way.h), z = (of.z & ~way.h) | (of.x & way.h);
            for (Int j = 0; free && j < waits; ++j) free = !is_odd(flips[j] & z);
            if (x && waits < 64 && waits < thresholds.strings_in_the_way) flips[waits++] = x;
            free = free && !x;
        });
        found += free;
    }
    return found / (count(way.h) + 0.5);
}

void Writer::take(const Way& way) {
    if (way.y) write({Gate::sdg, 0, way.y});
    if (way.targets) write({Gate::cx, way.pivot, way.targets});
    write({Gate::h, 0, way.h});
}

}  // namespace qx::form
