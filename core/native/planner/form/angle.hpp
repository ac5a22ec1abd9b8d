// Angles of rotations: numbers, or numbers and sums of phases that differ from binding to binding.
#pragma once

#include <vector>

#include "base/masks.hpp"

namespace qx::form {

using plan::Index;

// A number, and a sum of `Sums` or its negative.
struct Angle {
    static constexpr Index none = ~Index{0};
    double value = 0;
    Index sum = none;
    bool negative = false;

    bool varies() const { return sum != none; }
    Angle operator-() const { return {-value, sum, !negative}; }
};

// Sums of multiples of phases, as trees: a sum becomes part of one other sum at most, so all of them together are small.
class Sums {
  public:
    // A multiple of a phase.
    Angle multiple(Index phase, double by) {
        nodes_.push_back({phase, Angle::none, false, false, by});
        return {0, static_cast<Index>(nodes_.size() - 1), false};
    }
    Angle plus(const Angle& a, const Angle& b) {
        const double value = a.value + b.value;
        if (!a.varies()) return {value, b.sum, b.negative};
        if (!b.varies()) return {value, a.sum, a.negative};
        nodes_.push_back({a.sum, b.sum, a.negative, b.negative, 0});
        return {value, static_cast<Index>(nodes_.size() - 1), false};
    }
    // Calls a function with each phase of an angle and its multiple; a phase may come several times.
    template <class Each>
    void each(const Angle& of, const Each& function) const {
        if (!of.varies()) return;
        std::vector<std::pair<Index, bool>> left{{of.sum, of.negative}};
        while (!left.empty()) {
            const auto [number, negative] = left.back();
            left.pop_back();
            const Node& node = nodes_[number];
            if (node.second == Angle::none) {
                function(node.first, negative ? -node.by : node.by);
                continue;
            }
            left.emplace_back(node.second, negative != node.second_negative);
            left.emplace_back(node.first, negative != node.first_negative);
        }
    }

  private:
    // Two sums, or a phase.
    struct Node {
        Index first, second;
        bool first_negative, second_negative;
        double by;
    };
    std::vector<Node> nodes_;
};

}  // namespace qx::form
