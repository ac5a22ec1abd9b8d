// The random numbers of trajectories that do not come out in the most likely way: see trajectories.cpp.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/array.hpp"
#include "base/philox.hpp"
#include "kernels/trajectories/trajectories.hpp"

namespace qx::trajectories {
namespace {

// A window as random bits see it: the highest 53 of 64, minus `begin`, are below `length`.
struct Window {
    std::uint64_t begin, length;

    bool has(std::uint64_t bits) const { return (bits >> 11) - begin < length; }
};

// Returns the least number of 53 bits whose random number, times a factor, reaches a bound.
std::uint64_t reaching(double bound, double factor) {
    std::uint64_t low = 0, high = std::uint64_t{1} << 53;
    while (low < high) {
        const std::uint64_t middle = (low + high) / 2;
        if (static_cast<double>(middle) * 0x1p-53 * factor >= bound) high = middle;
        else low = middle + 1;
    }
    return low;
}

Window window_of(const Numbers& numbers) {
    const std::uint64_t begin = reaching(numbers.low(), numbers.factor());
    return {begin, reaching(numbers.high(), numbers.factor()) - begin};
}

constexpr Int TOGETHER = 64;  // random numbers that are compared with a window at a time

// The events of all shots: those of a shot are the steps from `begins[shot]` up to `begins[shot + 1]`, in order.
class Events {
  public:
    Events(const Request& given, const Array<Numbers>& numbers);

    // Writes all shots in the order of their first events.
    void order(Int* shots) const;

    // Returns the step of the next event of a shot, the last step if there is none.
    Int next(Int shot) const { return at_[shot] < begins_[shot + 1] ? steps_[at_[shot]] : end_; }
    void pass(Int shot) { ++at_[shot]; }
    // Puts shots, which are nearly in that order, in the order of their next events.
    void sort(Int* shots, Int begin, Int end) const;

  private:
    struct Event {
        std::int32_t step, shot;
    };
    Int end_;
    Array<Int> begins_, at_;
    List<Event> found_;
    Array<std::int32_t> steps_;
};

Events::Events(const Request& given, const Array<Numbers>& numbers)
    : end_(given.num_steps - 1), begins_(given.shots + 1, 0), at_(given.shots) {
    Array<Window> windows(numbers.size());
    for (Int k = 0; k < numbers.size(); ++k) windows[k] = window_of(numbers[k]);
    for (Int k = 0; k < given.num_order; ++k) {
        const Step& step = given.steps[given.order[k]];
        const Window window = windows[step.number];
        const std::uint64_t *key = given.keys + 2 * step.outcome, seed = key[0], stream = key[1];
        for (Int shot = 0; shot < given.shots; shot += TOGETHER) {
            const Int count = least(TOGETHER, given.shots - shot);
            std::uint64_t bits[TOGETHER];
            for (Int j = 0; j < count; j += 4) {
                const Four four = philox(seed, stream, static_cast<std::uint64_t>((given.first + shot + j) / 4));
                for (Int k = 0; k < 4; ++k) bits[j + k] = four.x[k];
            }
            std::uint64_t outside = 0;
            for (Int j = 0; j < count; ++j) outside |= static_cast<std::uint64_t>(!window.has(bits[j]));
            if (!outside) continue;
            for (Int j = 0; j < count; ++j)
                if (!window.has(bits[j])) {
                    found_.push({static_cast<std::int32_t>(given.order[k]), static_cast<std::int32_t>(shot + j)});
                    ++begins_[shot + j + 1];
                }
        }
    }
    for (Int shot = 0; shot < given.shots; ++shot) {
        begins_[shot + 1] += begins_[shot];
        at_[shot] = begins_[shot];
    }
    steps_.grow(found_.size());
    for (const Event& event : found_) steps_[at_[event.shot]++] = event.step;
    for (Int shot = 0; shot < given.shots; ++shot) at_[shot] = begins_[shot];
}

void Events::order(Int* shots) const {
    Array<bool> placed(at_.size(), false);
    for (const Event& event : found_)
        if (!placed[event.shot]) {
            placed[event.shot] = true;
            *shots++ = event.shot;
        }
    for (Int shot = 0; shot < at_.size(); ++shot)
        if (!placed[shot]) *shots++ = shot;
}

void Events::sort(Int* shots, Int begin, Int end) const {
    for (Int k = begin + 1; k < end; ++k) {
        const Int shot = shots[k], step = next(shot);
        Int to = k;
        for (; to > begin && next(shots[to - 1]) > step; --to) shots[to] = shots[to - 1];
        shots[to] = shot;
    }
}

}  // namespace
}  // namespace qx::trajectories
