// What turns may be off, each of them and all together.
#pragma once

#include <algorithm>
#include <cmath>

#include "planner/form/gates/turn.hpp"

namespace qx::form {

// tolerance: what any turn may be off. each: what a turn may be off beyond, since the numbers of all instructions are
// rounded and these add up; left: what is left of what such turns may be off together, so that nothing is lost that many
// small turns mean together.
struct Rounding {
    double tolerance = 0;
    double each = 0;
    double left = 0;

    // What the next turn may be off.
    double most() const { return std::max(tolerance, std::min(each, left)); }
    // Takes what a turn is off; returns false, and takes nothing, if that is too much.
    bool take(double off) {
        if (off <= tolerance) return true;
        if (off > most()) return false;
        left -= off;
        return true;
    }
    // Splits an angle, whose rest is 0 where it may be.
    SplitAngle split(double angle) {
        const SplitAngle out = split_angle(angle, most());
        if (out.rest == 0) take(std::fabs(split_angle(angle, 0).rest));
        return out;
    }
};

}  // namespace qx::form
