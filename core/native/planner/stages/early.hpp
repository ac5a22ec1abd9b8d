// What runs on a growing state before it is spread over devices.
//
// A state that has few bits is exchanged in no time. So it is spread as soon as it has bits that can be far from then on:
// bits that no later work mixes. Until then it grows as on one device, and so a plan for several has the sweeps of one.
#pragma once

#include "planner/growth.hpp"

namespace qx::plan {

// How a state grows until it is spread. most: the most bits that it may have then; 0 if it is spread when it has to be.
// low, worth: see PlanChoice. steadily: whether it grows as on one device, until bits are done; else it gets so many bits at
// once.
struct EarlyGrowth {
    int num_bits;
    const Shape& shape;
    int most;
    Mask low;
    double worth;
    bool steadily;

    // Divides work into what runs before the state is spread, and what is left. work: all pieces as this growth weighs them.
    // there: the bits that are not fresh. far: those that may be far. size: how many of them have to be.
    void divide(const std::vector<WorkOutline>& work, const std::vector<Index>& pending, Mask there, Mask far, int size,
                std::vector<Index>& ready, std::vector<Index>& left) const;

  private:
    bool until_done(Pending pending, Mask there, Mask far, int size, std::vector<Index>& ready,
                    std::vector<Index>& left) const;
    void at_once(Pending pending, Mask there, std::vector<Index>& ready, std::vector<Index>& left) const;
};

}  // namespace qx::plan
