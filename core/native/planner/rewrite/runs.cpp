// Long runs of work on two bits become one matrix.

#include "planner/rewrite/runs.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "planner/rewrite/rotate.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

using Run = RunJoiner::Run;

namespace {

constexpr double rotation = 4;  // multiply-adds of the real rotation that is left of a complex matrix on one bit
constexpr Index none = ~Index{0};

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
            runs.push_back({bits, at, {}, {}});
            for (int bit : {low, high}) {
                if (of_bit[bit] == none) continue;
                const Run& earlier = runs[of_bit[bit]];
                for (std::size_t k = earlier.core; k < earlier.members.size(); ++k)
                    if (work[earlier.members[k]].touched == unit(bit)) runs[run].leads.push_back(earlier.members[k]);
            }
            std::merge(before[low].begin(), before[low].end(), before[high].begin(), before[high].end(),
                       std::back_inserter(runs[run].members));
            for (int bit : {low, high}) before[bit].clear(), of_bit[bit] = run;
        }
        runs[run].members.push_back(at);
        runs[run].core = runs[run].members.size();
    }
    return runs;
}

}  // namespace

RunJoiner::RunJoiner(std::vector<Piece> work, PlanContext& context, CoefficientProgram& program, Trials& trials,
                     double item_work, Rules rules)
    : context_(context), item_work_(item_work), fuser_(context, program, trials, item_work, rules), work_(std::move(work)),
      gone_(work_.size()), runs_(runs_of(work_)) {}

bool RunJoiner::advance() {
    if (run_ < runs_.size()) {
        for (int k = 0; k < thresholds.runs_at_once && run_ < runs_.size(); ++k) join(runs_[run_++]);
        if (run_ == runs_.size() && joined_) fuser_.reserve(work_.size());
        return true;
    }
    if (!joined_) return false;
    for (int k = 0; k < thresholds.pieces_at_once && at_ < work_.size(); ++k, ++at_)
        if (!gone_[at_]) fuser_.add(work_[at_]);
    return at_ < work_.size();
}

std::vector<Piece> RunJoiner::finish() { return joined_ ? fuser_.finish() : std::move(work_); }

// Makes one matrix of a run where that pays. Where something may cancel, the last pieces on one bit need not be part of it:
// an H there is most often one of the next run. What no run takes is merged into a matrix beside it afterwards.
void RunJoiner::join(const Run& run) {
    std::vector<Index> members = leads_of(run);
    bool some = !members.empty();
    for (Index at : run.members) some = some || cancels(work_[at], context_);
    Piece made;
    if (some) {
        members.insert(members.end(), run.members.begin(), run.members.begin() + static_cast<std::ptrdiff_t>(run.core));
        std::sort(members.begin(), members.end(), [](Index a, Index b) { return a < b; });
        some = whole(members, run.bits, made);
    }
    if (some) {
        lengthen(run, members, made);
    } else {
        members = run.members;
        if (!whole(members, run.bits, made)) return;
    }
    joined_ = true;
    for (Index at : members) gone_[at] = true;
    gone_[run.anchor] = false;
    work_[run.anchor] = made;
}

// Returns what may lead a run: on each bit, the first piece that may cancel with others and what follows it.
std::vector<Index> RunJoiner::leads_of(const Run& run) const {
    std::vector<Index> found;
    Mask begun = 0;
    for (Index at : run.leads) {
        if (gone_[at]) continue;
        if (cancels(work_[at], context_)) begun |= work_[at].touched;
        if (work_[at].touched & begun) found.push_back(at);
    }
    return found;
}

// Makes one matrix of some work on two bits if that saves enough.
bool RunJoiner::whole(const std::vector<Index>& members, Mask bits, Piece& made) {
    if (members.size() < 2) return false;
    pieces_.clear();
    double before = 0;
    Mask mixed = 0;
    for (Index at : members) {
        const Piece& piece = work_[at];
        pieces_.push_back(&piece);
        mixed |= piece.mixed.units;
        bool split = item_work_ <= thresholds.item_work && splits(piece, context_);
        before += (split ? rotation + table_work : work_of(piece, context_)) + item_work_;
    }
    if (mixed != bits || before < thresholds.run_work) return false;
    return fuser_.product(pieces_.data(), static_cast<int>(pieces_.size()), bits, before, false, made);
}

// Takes those of the last pieces of a run that cost nothing in it; one that may cancel has to cost less.
void RunJoiner::lengthen(const Run& run, std::vector<Index>& members, Piece& made) {
    Mask stopped = 0;
    for (std::size_t k = run.core; k < run.members.size(); ++k) {
        const Piece& piece = work_[run.members[k]];
        if (stopped & piece.touched) continue;
        const Piece* both[] = {&made, &piece};
        Piece longer;
        bool roots = cancels(piece, context_);
        double most = work_of(made, context_) + item_work_ + (roots ? 0 : work_of(piece, context_) + item_work_);
        if (fuser_.product(both, 2, run.bits, most, roots, longer)) {
            made = longer;
            members.push_back(run.members[k]);
        } else {
            stopped |= piece.touched;
        }
    }
}

}  // namespace qx::plan
