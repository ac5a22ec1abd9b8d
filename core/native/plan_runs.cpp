// Long runs of work on two bits become one matrix.

#include "plan_runs.hpp"

#include <algorithm>
#include <iterator>

#include "plan_rotate.hpp"

namespace qx::plan {

using Run = RunJoiner::Run;

namespace {

constexpr double least = 22;  // multiply-adds of a run that is joined: one matrix costs 16, and needs both bits near
constexpr double rotation = 4;  // multiply-adds of the real rotation that is left of a complex matrix on one bit
constexpr Index none = ~Index{0};
constexpr int runs_at_once = 256, pieces_at_once = 1024;

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

RunJoiner::RunJoiner(std::vector<Piece> work, Book& book, NumberProgram& program, double item_work)
    : book_(book), item_work_(item_work), fuser_(book, program, item_work), work_(std::move(work)), gone_(work_.size()),
      runs_(runs_of(work_)) {}

bool RunJoiner::advance() {
    if (run_ < runs_.size()) {
        for (int k = 0; k < runs_at_once && run_ < runs_.size(); ++k) join(runs_[run_++]);
        if (run_ == runs_.size() && joined_) fuser_.reserve(work_.size());
        return true;
    }
    if (!joined_) return false;
    for (int k = 0; k < pieces_at_once && at_ < work_.size(); ++k, ++at_)
        if (!gone_[at_]) fuser_.add(work_[at_]);
    return at_ < work_.size();
}

std::vector<Piece> RunJoiner::finish() { return joined_ ? fuser_.finish() : std::move(work_); }

// Makes one matrix of a run where that pays.
void RunJoiner::join(const Run& run) {
    if (run.members.size() < 2) return;
    pieces_.clear();
    double before = 0;
    Mask mixed = 0;
    for (Index at : run.members) {
        const Piece& piece = work_[at];
        pieces_.push_back(&piece);
        mixed |= piece.mixed.units;
        bool split = item_work_ <= most_item_work && splits(piece, book_);
        before += (split ? rotation + table_work : work_of(piece, book_)) + item_work_;
    }
    Piece made;
    int number = static_cast<int>(pieces_.size());
    if (mixed != run.bits || before < least) return;
    if (!fuser_.product(pieces_.data(), number, run.bits, before, made)) return;
    joined_ = true;
    for (Index at : run.members) gone_[at] = true;
    gone_[run.anchor] = false;
    work_[run.anchor] = made;
}

}  // namespace qx::plan
