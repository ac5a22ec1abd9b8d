// The division of work into stages with far parities, and when one is looked for.

#include "planner/stages/parities/linear_division.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "thresholds/table.hpp"

namespace qx::plan {

int motions(const Division& division, int num_bits, const Levels& levels, Mask fresh) {
    if (levels.migration(num_bits)) return static_cast<int>(division.passes.size());
    int portions = 0;
    const StageWork* first = nullptr;
    for (const std::vector<StageWork>& one : division.passes)
        for (const StageWork& portion : one) {
            if (!portions++) first = &portion;
        }
    return portions + (first && first->needs & ~below(levels.local) & ~fresh);
}

double least_seconds(const Division& division, int num_bits, const Levels& levels, Mask fresh, const Rates& rates) {
    if (!levels.migration(num_bits)) return 0;
    Mask there = below(num_bits) & ~fresh;
    double copied = 0;
    for (const std::vector<StageWork>& portions : division.passes) {
        copied += std::ldexp(1.0, count(there));
        for (const StageWork& portion : portions) there |= portion.needs;
        copied += std::ldexp(1.0, count(there));
    }
    return single * copied / std::min(rates.host_both * std::ldexp(1.0, levels.peers), rates.host_all);
}

LinearSearch::LinearSearch(const CandidatePlan& candidate, int num_bits, const Levels& levels, Mask fresh, int most,
                           bool stays)
    : num_bits_(num_bits), levels_(levels), new_(fresh == below(num_bits)), stays_(stays) {
    bool migrates = levels.migration(num_bits) > 0;
    int size = migrates ? levels.migration(num_bits) : levels.peers;
    if (most < 1 || (fresh && !new_) || !may_be(candidate)) return;
    framed_ = std::make_unique<FramedWork>(candidate.work, num_bits, *candidate.context, new_);
    if (!framed_->fits()) return;
    Span directions;
    for (std::size_t k = 0; k < framed_->size(); ++k)
        for (int j = 0; j < (*framed_)[k].piece.num_mixed; ++j) directions.add(framed_->directions((*framed_)[k])[j]);
    if (most < (directions.size() <= num_bits - size ? 1 : 2)) return;  // all fit beside the far parities, or do not
    candidate_ = std::make_unique<CandidatePlan>(candidate.copy());
    candidates_ = candidates_of(candidate_->work, framed_->frame, *candidate_->context);
    Vectors first;
    for (int bit = migrates ? levels.slice : levels.local; bit < num_bits; ++bit) first.push_back(unit(bit));
    stays_ = stays && migrates && !new_;
    search_ = std::make_unique<FarParities>(*framed_, candidates_, size, new_, stays_ ? levels.slice : 0, first,
                                            !new_ && !migrates, stays_);
    left_ = most;
}

// Whether parities of work may be far: there is room for those of two stages above the lowest bits.
bool LinearSearch::may_be(const CandidatePlan& candidate) const {
    int size = levels_.migration(num_bits_) ? levels_.migration(num_bits_) : levels_.peers;
    if (levels_.ranks || num_bits_ - levels_.slice < 2 * size || candidate.work.size() > thresholds.divided_work)
        return false;
    std::size_t pieces = 0;
    for (const Piece& piece : candidate.work) {
        pieces += !changes_frame(piece, *candidate.context);
        if (piece.num_mixed > levels_.local - levels_.slice) return false;
    }
    return pieces <= thresholds.divided_pieces;
}

bool LinearSearch::advance() {
    if (!search_ || !left_--) return false;
    if (!search_->advance()) return true;
    write();
    return false;
}

// Writes the division as work on bits.
void LinearSearch::write() {
    int low = levels_.slice;
    PlanContext& context = *candidate_->context;
    Named named = (new_ ? backwards : forwards)(search_->stages, *framed_, low, context);
    for (std::size_t bit = 0; stays_ && bit < named.at.size(); ++bit)
        if (named.at[bit] != static_cast<int>(bit)) return;
    std::vector<Piece> work;
    std::vector<Part> parts;
    for (NamedStage& stage : named.stages) {
        if (stage.work.empty()) continue;
        parts.push_back({{}, stage.far});
        for (Piece& piece : stage.work) {
            piece.order = static_cast<Index>(work.size());
            parts.back().work.push_back(piece.order);
            work.push_back(piece);
        }
    }
    candidate_->work.swap(work);
    auto needs = [&](const Numbers& numbers) {
        Mask mixed = 0;
        for (Index number : numbers) mixed |= candidate_->work[number].mixed.units;
        return mixed;
    };
    division.low = below(low);
    if (levels_.migration(num_bits_)) {
        const std::vector<WorkOutline> seen = outlines(candidate_->work, candidate_->work.size(), false, false);
        const Shape none{};
        Divider divider(seen, seen, num_bits_, levels_, 0, {{num_bits_, none, 0, 0, 0, true}, false, 0});
        for (Part& part : parts) {
            divider.only(std::move(part.work), below(num_bits_) & ~part.far);
            while (divider.advance() == Divider::State::busy) {
            }
        }
        division.passes = divider.take().passes;
    } else {
        division.passes.emplace_back();
        for (Part& part : parts) {
            Mask mixed = needs(part.work);
            division.passes[0].push_back({std::move(part.work), mixed, {}});
        }
    }
    renamed = {named.at, framed_->frame.flip};
    found_ = true;
}

}  // namespace qx::plan
