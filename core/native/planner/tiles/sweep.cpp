// From work to steps: sweeps with their register blocks and items, and the steps that are not sweeps.

#include "planner/tiles/sweep.hpp"

#include "planner/tiles/blocks.hpp"
#include "planner/tiles/items.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

Scheduler::Scheduler(const std::vector<Piece>& work, const std::vector<WorkOutline>& outlines, int num_bits,
                     const Shape& shape, Mask fresh, PlanContext& context, CoefficientProgram& program, StepArrays& out,
                     Floating* floating, double worth, Mask last)
    : work_(work), shape_(shape), context_(context), out_(out), sweep_(shape, context, program, out),
      growth_(num_bits, shape, fresh, below(shape.low), worth, last), floating_(floating) {
    pending_ = Pending::of(outlines);
}

bool Scheduler::advance() {
    if (sweeping_) {
        if (!blocks_done_) return blocks_done_ = sweep_.advance(), true;
        return end_sweep();
    }
    const Piece& piece = work_[pending_.number(0)];
    if (piece.in_a_sweep()) begin_sweep();
    else alone(piece);
    return true;
}

void Scheduler::clear(Mask fresh) {
    Step step{};
    step.type = Step::zero_fill, step.fresh = static_cast<Int>(fresh), step.packed = static_cast<Int>(out_.packed.size());
    out_.steps.push_back(step);
}

// Writes all zeros that are not written yet.
void Scheduler::complete() {
    if (growth_.fresh.empty()) return;
    clear(growth_.fresh.units);
    growth_.complete();
    if (floating_) floating_->follow(out_.steps.size());
}

void Scheduler::alone(const Piece& piece) {
    complete();  // only sweeps may run on fresh bits
    Step step{};
    step.type = static_cast<Int>(piece.kind) - static_cast<Int>(Kind::dense_matrix) + Step::dense_matrix;
    step.words = piece.words, step.num_bits = piece.num_mixed, step.num_reads = piece.num_reads;
    step.when_mask = static_cast<Int>(piece.when.mask), step.when_value = static_cast<Int>(piece.when.value);
    step.to = piece.to, step.held = static_cast<Int>(piece.held), step.label = piece.label;
    for (Index k = 0; k < piece.source.count; ++k) out_.packed.push_back(context_.place(piece.source, k));
    step.packed = static_cast<Int>(out_.packed.size());
    out_.steps.push_back(step);
    if (floating_) floating_->follow(out_.steps.size());
    if (pending_.front.empty()) ++pending_.next;
    else pending_.front.erase(pending_.front.begin());
}

void Scheduler::begin_sweep() {
    if (!shape_.rules.has(Rule::growth)) complete();
    fresh_before_ = growth_.fresh.units;
    tile_ = growth_.tile(pending_, reasons_);
    ready_.clear();
    split(pending_, reasons_, tile_, ready_);
    Directions reading{below(shape_.edge)}, writing = reading;
    if (floating_) {
        reading = floating_->edge();
        growth_.float_low(ready_, pending_, tile_.without(floating_->high));
        floating_->store(growth_.low());
        writing = floating_->edge();
    }
    sweep_.begin(Pending::of(*pending_.work, &ready_), tile_, reading, writing);
    sweeping_ = true, blocks_done_ = false;
}

// Writes the sweep with its items; work that did not fit into its register blocks is pending again.
bool Scheduler::end_sweep() {
    Step step{};
    step.tile = static_cast<Int>(tile_.units), step.fresh = static_cast<Int>(fresh_before_);
    sweep_.write(step, work_, shape_.making(growth_.size()));
    if (floating_) floating_->follow(out_.steps.size());
    sweeping_ = false;
    const Pending& left = sweep_.left();
    if (left.size() == ready_.size()) return false;
    if (!left.empty()) {
        growth_.change();
        std::vector<Index> front;
        front.reserve(left.size() + pending_.front.size());
        std::size_t own = 0, other = 0;
        while (own < left.size() || other < pending_.front.size()) {
            bool take = other == pending_.front.size() || (own < left.size() && left.number(own) < pending_.front[other]);
            front.push_back(take ? left.number(own++) : pending_.front[other++]);
        }
        pending_.front.swap(front);
    }
    return true;
}

void RegisterBlockWriter::begin(Pending work, Directions tile, Directions reading, Directions writing) {
    left_ = std::move(work);
    tile_ = tile, reading_ = reading, writing_ = writing;
    blocks_.clear(), in_blocks_.clear();
}

// Edge bits are not register bits in the first and the last register block.
bool RegisterBlockWriter::advance() {
    Directions middle = tile_.without(reading_ | writing_);
    bool done = false;
    for (int k = 0; k < thresholds.blocks_at_once && !done; ++k) {
        bool first = blocks_.empty(), last = static_cast<int>(blocks_.size()) == shape_.most_blocks - 1;
        reasons_.find(left_, {}, shape_.registers);
        Directions allowed = tile_.without(first ? reading_ : last ? writing_ : Directions{});
        Directions chosen = choose(reasons_, {}, allowed, shape_.registers);
        Directions near = fill(fill(chosen, middle, shape_.registers, false), allowed, shape_.registers, false);
        split(left_, reasons_, near, in_blocks_);
        blocks_.push_back({near, in_blocks_.size()});
        done = last || left_.empty();
    }
    if (done && blocks_.back().registers.meets(writing_))
        blocks_.push_back({fill({}, tile_.without(writing_), shape_.registers, false), in_blocks_.size()});
    return done;
}

void RegisterBlockWriter::write(Step step, const std::vector<Piece>& work, double making) {
    const bool blocks = making >= 0;
    const std::size_t known = context_.places.size();  // what blocks and tables add is read until it is packed
    Packer packer(context_, program_, out_, shape_.table);
    step.type = Step::sweep, step.begin = static_cast<Int>(out_.register_blocks.size());
    std::size_t at = 0;
    PieceRefs pieces;
    std::vector<std::unique_ptr<Piece>> made;
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
        if (blocks) pieces = packer.take_held();
        for (; at < blocks_[k].end; ++at) pieces.push_back(&work[in_blocks_[at]]);
        if (blocks) pieces = gathered(pieces, blocks_[k].registers.units, shape_.block, making, context_, program_, made);
        packer.add(blocks_[k].registers, pieces, k + 1 == blocks_.size());
        pieces.clear();
    }
    packer.finish(step.numbers, step.tables);
    context_.places.resize(known);
    step.end = static_cast<Int>(out_.register_blocks.size());
    step.packed = static_cast<Int>(out_.packed.size());
    out_.steps.push_back(step);
}

}  // namespace qx::plan
