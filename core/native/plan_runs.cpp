// Long runs of work on two bits become one matrix.

#include "plan_runs.hpp"

#include <algorithm>
#include <iterator>

#include "plan_rotate.hpp"

namespace qx::plan {

namespace {

constexpr double least = 24;  // multiply-adds of a run that is joined: one matrix costs 16, and needs both bits near
constexpr double rotation = 4;  // multiply-adds of the real rotation that is left of a complex matrix on one bit
constexpr Index none = ~Index{0};

// Work on two bits. anchor: the first piece that touches both, where the whole run may stand.
struct Run {
    Mask bits;
    Index anchor;
    std::vector<Index> members;
};

// Returns the runs in the order of their anchors.
std::vector<Run> runs_of(const std::vector<Piece>& work) {
    std::vector<Run> runs;
    std::vector<Index> of_bit(64, none);
    std::vector<std::vector<Index>> before(64);  // for each bit without a run, the pieces on it alone
    for (Index at = 0; at < work.size(); ++at) {
        const Piece& piece = work[at];
        Mask bits = piece.touched;
        if (!Fuser::small(piece)) {
            each(bits, [&](int bit) { of_bit[bit] = none, before[bit].clear(); });
            continue;
        }
        int low = lowest(bits), high = 63 - __builtin_clzll(bits);
        Index run = of_bit[low];
        if (low == high) {
            (run == none ? before[low] : runs[run].members).push_back(at);
            continue;
        }
        if (run == none || run != of_bit[high]) {
            run = static_cast<Index>(runs.size());
            runs.push_back({bits, at, {}});
            std::merge(before[low].begin(), before[low].end(), before[high].begin(), before[high].end(),
                       std::back_inserter(runs[run].members));
            for (int bit : {low, high}) before[bit].clear(), of_bit[bit] = run;
        }
        runs[run].members.push_back(at);
    }
    return runs;
}

}  // namespace

std::vector<Piece> join_runs(std::vector<Piece> work, Book& book, NumberProgram& program, double item_work) {
    Fuser fuser(book, program, item_work);
    std::vector<bool> gone(work.size());
    bool joined = false;
    std::vector<const Piece*> pieces;
    for (const Run& run : runs_of(work)) {
        if (run.members.size() < 2) continue;
        pieces.clear();
        double before = 0;
        Mask mixed = 0;
        for (Index at : run.members) {
            const Piece& piece = work[at];
            pieces.push_back(&piece);
            mixed |= piece.mixed.units;
            bool split = item_work <= most_item_work && splits(piece, book);
            before += (split ? rotation + table_work : work_of(piece, book)) + item_work;
        }
        Piece made;
        int number = static_cast<int>(pieces.size());
        if (mixed != run.bits || before < least) continue;
        if (!fuser.product(pieces.data(), number, run.bits, before, made)) continue;
        joined = true;
        for (Index at : run.members) gone[at] = true;
        gone[run.anchor] = false;
        work[run.anchor] = made;
    }
    if (!joined) return work;
    fuser.reserve(work.size());
    for (std::size_t at = 0; at < work.size(); ++at)
        if (!gone[at]) fuser.add(work[at]);
    return fuser.finish();
}

}  // namespace qx::plan
