// What a bit is, as a function of the bits with which a circuit began: ordered decision diagrams that share their nodes.
//
// Equal functions have one diagram, and what ladders compute has short ones, whatever values their bits have to have.
// R. E. Bryant, IEEE Transactions on Computers C-35, 677 (1986); a function and its opposite are one node, as K. S. Brace,
// R. L. Rudell and R. E. Bryant have it, Design Automation Conference 27, 40 (1990).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "planner/form/clusters/joint_phases.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

// A function of bits in a table. Of one table, equal functions are equal.
class Diagram {
  public:
    constexpr Diagram() = default;  // 0
    static constexpr Diagram one() { return Diagram(1); }
    bool operator==(const Diagram&) const = default;
    Diagram operator!() const { return Diagram(edge_ ^ 1); }
    bool is_zero() const { return edge_ == 0; }
    bool is_one() const { return edge_ == 1; }
    // Whether it is 1 where all bits are 0.
    bool begins_as_one() const { return edge_ & 1; }

  private:
    friend class Diagrams;
    explicit constexpr Diagram(std::uint32_t edge) : edge_(edge) {}

    std::uint32_t edge_ = 0;  // twice the number of a node, and one more for its opposite
};

class Diagrams {
  public:
    // most: steps that are allowed at once, whatever is asked for. part: those of a sum, or of a number of products, that
    // may be left. Tests let both be few.
    explicit Diagrams(std::size_t most = ~std::size_t{0},
                      std::size_t part = static_cast<std::size_t>(thresholds.part_entries))
        : most_(most), part_(part) {
        reset();
    }

    // Forgets all functions, and the order of bits, which is that in which they are read first.
    void reset();
    // Lets as many steps be taken from now on. What takes more is something, and does not fit.
    void allow(std::size_t steps) { left_ = std::min(steps, most_), fits_ = true; }
    bool fits() const { return fits_; }
    // How many steps have been taken, and how many a part may take.
    std::size_t steps() const { return steps_; }
    std::size_t part() const { return part_; }

    Diagram bit(int wire);
    Diagram both(Diagram a, Diagram b);
    Diagram sum(Diagram a, Diagram b);
    // Returns where a function changes with a bit, and what it is where that is 0.
    Diagram change(Diagram of, int wire);
    Diagram at_zero(Diagram of, int wire);
    // Returns the sum if that takes no more than the steps of a part.
    std::optional<Diagram> short_sum(Diagram a, Diagram b);
    // Returns a function of which a bit is flipped where another one is 1.
    Diagram flipped(Diagram of, int wire, Diagram where) { return sum(of, both(change(of, wire), where)); }
    // Returns the function that is 1 where bits have values.
    Diagram where(Mask bits, Mask values);

    Mask read(Diagram of) const { return nodes_[of.edge_ >> 1].reads; }
    bool reads(Diagram of, int wire) const { return (read(of) >> wire & 1) != 0; }
    // The bit that its diagram asks first, and what it is for both values of that.
    int first(Diagram of) const { return order_[nodes_[of.edge_ >> 1].level]; }
    Diagram low(Diagram of) const { return Diagram(nodes_[of.edge_ >> 1].low ^ (of.edge_ & 1)); }
    Diagram high(Diagram of) const { return Diagram(nodes_[of.edge_ >> 1].high ^ (of.edge_ & 1)); }

    // Whether it is 1 where some bits are 1, and all others 0.
    bool value(Diagram of, Mask bits) const {
        while (of.edge_ > 1) of = bits >> first(of) & 1 ? high(of) : low(of);
        return of.is_one();
    }

    // Returns how many products of bits, or of bits flipped, it is found as the sum of, within the steps of a part, else
    // many; and these, each as a sign.
    std::size_t number_of_products(Diagram of);
    std::vector<JointPhase> few_products(Diagram of);

  private:
    // The bit of a level, and what a function is where that is 0, which begins as 0, and where it is 1.
    struct Node {
        std::uint32_t level, low, high;
        Mask reads;
        std::array<std::uint32_t, 2> products;  // of it and of its opposite; 0 where that is not known
    };
    enum Operation : std::uint32_t { of_both, of_sum, of_change, of_zero };
    struct Known {
        std::uint64_t of = 0;  // the operation, since which reset
        std::uint32_t a = 0, b = 0, is = 0;
    };
    struct Split;

    std::uint32_t node(std::uint32_t level, std::uint32_t low, std::uint32_t high);
    std::uint32_t level_of(std::uint32_t edge) const { return nodes_[edge >> 1].level; }
    // What an edge is for both values of the bit of a level, which is not below its own.
    std::pair<std::uint32_t, std::uint32_t> parts(std::uint32_t edge, std::uint32_t level) const {
        const Node& own = nodes_[edge >> 1];
        if (own.level != level) return {edge, edge};
        return {own.low ^ (edge & 1), own.high ^ (edge & 1)};
    }
    bool step();
    template <class Call>
    bool is_short(const Call& call);
    std::uint64_t key(Operation operation) const { return resets_ << 2 | operation; }
    Known& known(Operation operation, std::uint32_t a, std::uint32_t b);
    std::uint32_t joined(Operation operation, std::uint32_t a, std::uint32_t b);
    std::uint32_t restricted(Operation operation, std::uint32_t of, std::uint32_t level);
    std::uint32_t products(Diagram of);
    Split split(Diagram of);
    void add_products(Diagram of, JointPhase under, std::vector<JointPhase>& to);
    void grow();

    std::vector<Node> nodes_;
    std::vector<std::uint32_t> places_;  // of nodes, by what they are
    std::vector<Known> known_;
    std::array<int, 65> order_{};             // the wire of each level from 1 on, of which the highest is asked first
    std::array<std::uint32_t, 64> levels_{};  // of wires; 0 where it has none
    std::uint32_t last_level_ = 0;
    std::uint64_t resets_ = 0;
    std::size_t steps_ = 0, left_ = 0, most_, part_;
    bool fits_ = true;
};

}  // namespace qx::form
