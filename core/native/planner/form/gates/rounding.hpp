// What turns may be off, each of them and all together.
#pragma once

#include <algorithm>
#include <limits>

#include "planner/form/gates/turn.hpp"

namespace qx::form {

// tolerance: what a turn may be off, or `each` if that is more; left: what is left of what all of them may be off together,
// so that nothing is lost that many small turns mean together. Where nothing is left, a turn may be off what `of_one`
// instruction adds to that.
struct Rounding {
    static constexpr double rounded = 4 * std::numeric_limits<double>::epsilon();  // what the numbers of one are off
    static constexpr double together = 8, of_one = together * rounded;

    double tolerance = 0;
    double each = 0;
    double left = 0;

    // Of a circuit of so many instructions: each turn may be off what their numbers are off together, since all of these
    // are rounded.
    static Rounding of(double tolerance, double instructions) {
        return {tolerance, rounded * instructions, tolerance + of_one * instructions};
    }
    // Lets all turns be off as much more as one more instruction adds.
    void grow() { left += of_one; }
    // What the next turn may be off.
    double most() const { return std::max(of_one, std::min(std::max(tolerance, each), left)); }
    // Takes what something is off of which no part is off more than `most`.
    void spend(double off) {
        if (off > rounded) left -= off;
    }
    // Takes what a turn is off; returns false, and takes nothing, if that is too much.
    bool take(double off) {
        if (off > most()) return false;
        spend(off);
        return true;
    }
    // Splits an angle, whose rest is 0 where it may be.
    SplitAngle split(double angle) {
        const SplitAngle out = split_angle(angle, most());
        spend(out.off);
        return out;
    }
};

}  // namespace qx::form
