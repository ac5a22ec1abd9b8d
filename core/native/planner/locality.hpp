// The choice of bits to bring near, at every level of the memory hierarchy.
//
// Work may run when the bits, or directions, that it mixes are near and no earlier work that is left behind has to run
// before it; it may overtake work with which it only shares read bits. One scan finds the *reason* of every piece of work:
// the directions that would have to come near before it could run. Choosing directions is then a coverage problem over
// those sets, solved greedily; no second scan. The reverse problem, where few bits are far and most are near, is
// stages/far.hpp.
#pragma once

#include <vector>

#include "planner/piece.hpp"

namespace qx::plan {

// Pieces that have not run yet, in their order: some that were looked at and left behind, and all from `next` on.
// What is never looked at is never copied, so that planning takes time in proportion to the work.
struct Pending {
    const std::vector<WorkOutline>* work = nullptr;
    const std::vector<Index>* all = nullptr;  // numbers of pieces in `work`; all of `work` if null
    std::vector<Index> front;
    std::size_t next = 0;
    Mask scope = 0;        // all bits that some piece mixes
    std::size_t free = 0;  // how many pieces touch none of them, and can run at any time
    std::vector<Index> spare;  // memory for the next `front`

    // All of some work, or of some of its pieces.
    static Pending of(const std::vector<WorkOutline>& work, const std::vector<Index>* all = nullptr) {
        Pending out;
        out.work = &work, out.all = all;
        for (std::size_t k = 0; k < out.end(); ++k) out.scope |= out[k].mixed.units;
        for (std::size_t k = 0; k < out.end(); ++k) out.free += out.is_free(out[k]);
        return out;
    }

    bool is_free(const Outline& piece) const { return !(piece.touched & scope); }
    std::size_t end() const { return all ? all->size() : work->size(); }
    std::size_t size() const { return front.size() + end() - next; }
    bool empty() const { return !size(); }
    Index number(std::size_t k) const {
        if (k < front.size()) return front[k];
        k += next - front.size();
        return all ? (*all)[k] : static_cast<Index>(k);
    }
    const WorkOutline& operator[](std::size_t k) const { return (*work)[number(k)]; }
    // Calls act(piece) for each piece until that returns false.
    template <class Act>
    void each(Act act) const {
        const WorkOutline* of = work->data();
        for (Index number : front)
            if (!act(of[number])) return;
        for (std::size_t k = next, size = end(); k < size; ++k)
            if (!act(of[all ? (*all)[k] : k])) return;
    }
};

// A direction that is never near: a step of its own has to run first.
constexpr Directions never{Mask{1} << 63};

// At most `outside` of the directions that are chosen may not be in `inside`.
struct Bound {
    Directions inside{~Mask{0}};
    int outside = 0;

    bool holds(Directions chosen) const { return chosen.without(inside).size() <= outside; }
};

// What pending pieces wait for, for directions that are near.
class Reasons {
  public:
    // A reason that some pieces have, with the weight of these and their multiply-adds per amplitude.
    struct Distinct {
        Directions missing;
        Int weight;
        double work;
    };
    // Stands for all reasons of more directions than will be added: nothing else of them matters.
    static constexpr Directions wide{~Mask{0}};

    // Finds the reason of each piece; there are fewer if the window ended.
    //
    // capacity, bound: how many directions will be added at most. The scan ends where all pieces that follow wait for more;
    // what runs is the same, and most scans end after a few layers of a circuit.
    void find(const Pending& pending, Directions near, int capacity, Bound bound = {});
    // Makes them those with some directions near, if they were found with none near, and so many may be added as fit beside
    // these, or outside of a bound that has them inside; returns false where the window ended, so that another scan may see
    // more.
    bool narrow(Directions near, int capacity);

    Directions operator[](std::size_t k) const { return of_[k]; }
    std::size_t size() const { return size_; }
    // The reasons of pieces that cannot run yet and are not wide, the earliest first.
    const std::vector<Distinct>& distinct() const { return distinct_; }
    // The multiply-adds per amplitude of the work that can run when these directions are near.
    double arithmetic(Directions near) const;

  private:
    static constexpr std::size_t slots = 1024;  // of a table that has at most thresholds.left_behind entries

    void add(Directions reason, Int weight, double work);

    std::vector<Directions> of_;  // the first `size_` of them count
    std::size_t size_ = 0;
    std::vector<Distinct> distinct_, spare_;
    std::uint16_t at_[slots];  // where a reason stands in `distinct_`, from 1 on
    double runs_ = 0;          // the multiply-adds of the pieces that wait for nothing
    bool whole_ = false;       // whether the window did not end
};

// Returns `near` with at most `capacity` of `allowed` added, chosen so that most of the work can run.
Directions choose(const Reasons& reasons, Directions near, Directions allowed, int capacity, Bound bound = {});

// Appends the pieces that can run to `ready`, and leaves the others pending; both in order.
void split(Pending& pending, const Reasons& reasons, Directions near, std::vector<Index>& ready);

}  // namespace qx::plan
