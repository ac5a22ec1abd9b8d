// Dividing a plan's work into passes and stages, before the position of each bit is decided.
//
// A stage is all work that can run while some bits are far. The far bits are searched for: from each stage the few best
// sets of far bits are followed, the best few paths are kept, and the first path that completes all work wins. So the number
// of passes is minimised first, and inside a pass the number of exchanges.
#pragma once

#include <memory>

#include "planner/stages/early.hpp"
#include "planner/stages/far.hpp"
#include "planner/stages/levels.hpp"

namespace qx::plan {

using Numbers = std::vector<Index>;  // of pieces of work

// Work that runs in one stage. needs: the bits that have to be local. swaps: pairs of bits that change places in the memory
// of the device before the work, the second of each pair lying below the slice.
struct StageWork {
    Numbers work;
    Mask needs = 0;
    Pairs swaps;
};

// All work in order: passes, and the portions of each pass. low: the bits that are below the slice at the start. turns: with
// ranks, for each pass the bits that have to be in the part of every rank then. far: the bits that are far at some time.
struct Division {
    std::vector<std::vector<StageWork>> passes;
    Mask low = 0;
    std::vector<Mask> turns;
    Mask far = 0;
};

// The work of a portion, and the bits that are far during it.
struct Part {
    Numbers work;
    Mask far;
};

// A partial division of some work.
struct Partial {
    static constexpr std::size_t none = ~std::size_t{0};

    Numbers pending;
    Freedom freedom;
    Mask there;  // bits that are not fresh any more
    Part last = {};  // the last portion, if there is one
    bool begun = false;
    std::size_t before = none;  // where a search keeps the one before it
    double cost = 0;  // the amount moved, in states
    Int weight = 0;  // of the pending work

    Mask far() const { return begun ? last.far : 0; }
};

// Divides work into as few portions as a beam search finds, a round at a time.
class Search {
  public:
    // size: how many of the `allowed` bits are far in each portion. early: how a growing state is spread, or null.
    // exchanges: whether portions exchange bits; else they are passes.
    Search(const std::vector<WorkOutline>& work, Partial begin, int size, Mask allowed, bool early, bool exchanges);

    // Does one round; returns false when all work is divided.
    bool advance();
    const Partial& best() const { return paths_[best_]; }
    // The portions of the best path.
    std::vector<Part> parts();

  private:
    void further(Partial& path, std::vector<Partial>& out);
    double moves(const Partial& path, Mask far, Mask mixed) const;

    const std::vector<WorkOutline>& work_;
    int size_;
    Mask allowed_;
    bool early_, exchanges_;
    std::vector<Partial> paths_;
    struct Kept {
        Part part;
        std::size_t before;
    };
    std::vector<Kept> kept_;  // portions before the last ones
    std::size_t best_ = 0;
};

// How a division is made. early: see EarlyGrowth, whose `most` may be 0. nested: whether work is divided by the farthest
// layer first, then by the next one. lowest: bits that come first where those below the slice may be chosen.
struct HowDivided {
    EarlyGrowth early;
    bool nested;
    Mask lowest;
};

// Divides the work of one plan, section by section; between them are operations too wide to place freely.
class Divider {
  public:
    // work: all pieces. weighed: the same as `early` weighs them.
    Divider(const std::vector<WorkOutline>& work, const std::vector<WorkOutline>& weighed, int num_bits,
            const Levels& levels, Mask fresh, const HowDivided& how);

    enum class State { busy, done, too_wide };

    // Does a bounded amount of work; the last state is `too_wide` if an operation mixes more bits than can be local.
    State advance();
    Division take();
    // Divides the work of one pass, and no other; `allowed`: the bits that are near.
    void only(Numbers work, Mask allowed) { tasks_.push_back({Task::one_pass, std::move(work), allowed, 0}); }

  private:
    struct Task {
        enum Kind { ranks, passes, one_pass, portions, turns, wide } kind;
        Numbers work;
        Mask allowed;  // of `turns` the bits
        std::size_t depth;
    };

    void begin();
    State run(Task task);
    void begin_search(Task task, int size, bool exchanges);
    void end_search();
    Partial small(Partial path, int size, Mask allowed) const;
    bool wide(Index number);
    void pin(Mask mixed);
    Mask lowest(Mask mixed) const;
    void pass_of(StageWork portion, Mask turn);
    Mask mixed_by(const Numbers& numbers) const;

    const std::vector<WorkOutline>&work_, &weighed_;
    int num_bits_;
    const Levels& levels_;
    HowDivided how_;
    Mask everything_;
    int capacity_;
    std::vector<int> counts_;  // of bits by which a pass is divided, one after the other
    Freedom freedom_;
    Mask there_;
    bool is_pinned_ = false;
    Mask low_ = 0;  // decided by the first wide operation, or at the end
    bool begun_ = false;
    Division made_;
    std::vector<Task> tasks_;  // the next one last
    std::unique_ptr<Search> search_;
    Task searched_;
};

// Returns `size` of some bits to be far; those that cost no freedom come first.
Mask late(Mask bits, int size, const Freedom& freedom);

}  // namespace qx::plan
