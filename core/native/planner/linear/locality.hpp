// The choice of directions to bring near: planner/locality.hpp with subspaces in place of sets of bits.
//
// A piece of work may run when the directions that it mixes are near, and nothing that it does not commute with waits
// before it. Its *reason* is the least subspace that lets it run. A greedy choice adds the reason that lets most work run
// for each dimension that it costs.
#pragma once

#include "base/interned.hpp"
#include "planner/linear/frame.hpp"

namespace qx::plan {

using Numbers = std::vector<Index>;  // of pieces, in order

// Which pieces have to run before which: two of them may change places if directions and parities overlap evenly.
class Order {
  public:
    explicit Order(const FramedWork& work);

    // The pieces that come just before one.
    const Index* begin(Index number) const { return before_.data() + (number ? ends_[number - 1] : 0); }
    const Index* end(Index number) const { return before_.data() + ends_[number]; }

  private:
    Numbers before_, ends_;
};

// Subspaces that are kept once and known by their number; 0 is the one without dimensions.
class Subspaces {
  public:
    Subspaces() { of(Basis()); }

    Index of(const Basis& basis);
    std::size_t size() const { return ends_.size() - 1; }
    int dimensions(Index number) const { return static_cast<int>(ends_[number + 1] - ends_[number]); }
    const Mask* begin(Index number) const { return rows_.data() + ends_[number]; }
    const Mask* end(Index number) const { return rows_.data() + ends_[number + 1]; }

  private:
    Interned known_;
    Vectors rows_;
    std::vector<std::size_t> ends_{0};
};

// What pending pieces wait for, the first of them in their order; there are fewer if the window ended.
struct LinearReasons {
    static constexpr Index wide = ~Index{0};  // stands for more dimensions than will be added

    Numbers numbers, of;  // pieces, and the number of the reason of each
    Subspaces spaces;

    // Returns those of the same pieces with some directions near, to which at most so many are added. With none near, as
    // these were found, those and as many more could be.
    LinearReasons beside(const Span& near, int most) const;
    // Tells of each reason whether it lies in a space.
    std::vector<bool> lie_in(const Span& space) const;
    // The multiply-adds per amplitude of the pieces that run with some directions near.
    double arithmetic(const FramedWork& work, const Span& near) const;
};

LinearReasons linear_reasons(const Numbers& pending, const FramedWork& work, const Order& order, const Span& near, int most);

// What may be chosen: reasons in `allowed`, if that is given; of all at most `outside` dimensions that are not in the span
// of `inside`, -1 for no such bound.
struct LinearBound {
    const Span* allowed = nullptr;
    Vectors inside = {};
    int outside = -1;
};

// Returns at most `capacity` directions besides `near` that let most work run.
Vectors choose(const LinearReasons& reasons, const FramedWork& work, const Vectors& near, int capacity,
               const LinearBound& bound = {});

// Divides pieces into those that can run with some directions near, and those that are left behind; both in order.
void split(const Numbers& pending, const FramedWork& work, const Order& order, const Span& near, Numbers& ready,
           Numbers& left);

}  // namespace qx::plan
