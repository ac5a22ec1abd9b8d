// A plan that is made in one choice, and the time that its steps take.

#include "planner/attempt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "planner/tiles/unmixed.hpp"

namespace qx::plan {

namespace {

Mask moved(Mask mask, const std::vector<int>& to) {
    Mask out = 0;
    each(mask, [&](int bit) { out |= unit(to[bit]); });
    return out;
}

double amplitudes(int bits) { return static_cast<double>(unit(bits)); }

// The pattern of RXX, RYY and their products. A sweep with more than so many of them takes by this share longer for each one
// beyond: its instructions do not fit into the nearest caches.
constexpr char pair[] = {real, zero, zero, imag, zero, real, imag, zero, zero, imag, real, zero, imag, zero, zero, real};
constexpr int crowd = 25;
constexpr double crowded = 0.012;

double share(Int mask) {
    double out = 1;
    for (int k = count(static_cast<Mask>(mask)); k > 0; --k) out *= 0.5;
    return out;
}

double diagonal_work(const Item& item, const RegisterBlock& block, PlanContext& context) {
    const Mask *reads = context.words.data() + item.words, registers = static_cast<Mask>(block.registers);
    const Index looked_up = elsewhere(reads, static_cast<int>(item.num_reads), registers);
    return context.patterns.diagonal_work(static_cast<Index>(item.pattern), looked_up);
}

}  // namespace

Layout moved(const Layout& layout, const std::vector<int>& to) {
    Layout out;
    for (int bit : layout.address) out.address.push_back(to[bit]);
    each(layout.flip, [&](int bit) { out.flip |= unit(to[bit]); });
    return out;
}

SweepWork sweep_work(const Step& sweep, const StepArrays& steps, PlanContext& context, const Shape& shape) {
    constexpr int block_bits = 4;  // as in qsim_ex.steps.layout
    SweepWork out;
    Patterns& patterns = context.patterns;
    int pairs = 0;
    const RegisterBlock* block = &steps.register_blocks[sweep.begin];
    for (Int k = block->begin; k < steps.register_blocks[sweep.end - 1].end; ++k) {
        while (k == block->end) ++block;
        const Item& item = steps.items[k];
        if (item.kind == static_cast<Int>(Kind::permute)) {
            out.permuted += shape.permute;
            continue;
        }
        Index pattern = static_cast<Index>(item.pattern);
        bool mix = item.kind == static_cast<Int>(Kind::mix);
        double own =
            mix ? patterns.mix_work(pattern, 1 << item.num_bits, shape.in_vectors()) : diagonal_work(item, *block, context);
        own *= share(item.when_mask);
        pairs += mix && patterns[pattern] == Interned::Bytes(pair, sizeof pair) && !item.num_reads && !item.when_mask;
        if (mix && shape.has_blocks && item.num_bits == block_bits && !item.num_reads) own = std::min(own, shape.block);
        out.work += own;
    }
    out.crowded = crowded * std::max(0, pairs - crowd);
    return out;
}

Attempt::Attempt(CandidatePlan given, PlanChoice choice, int num_bits, const Shape& shape, Mask fresh, bool places)
    : candidate(std::move(given)), floats(choice.floats), lows(count(choice.low)), num_bits_(num_bits),
      shape_(shape.with(lows)), places_(places) {
    if (choice.low != below(lows)) {
        std::vector<int> to(static_cast<std::size_t>(num_bits));
        int place = 0;
        each(choice.low, [&](int bit) { to[bit] = place++; });
        each(below(num_bits) & ~choice.low, [&](int bit) { to[bit] = place++; });
        move(to);
    }
    if (floats) floating_ = std::make_unique<Floating>(num_bits, shape_);
    outlines_ = outlines(candidate.work, candidate.work.size(), choice.worth != 0, false);
    scheduler_ = std::make_unique<Scheduler>(candidate.work, outlines_, num_bits, shape_, fresh, *candidate.context,
                                             candidate.program, steps, floating_.get(), choice.worth);
}

bool Attempt::advance() {
    if (!scheduler_->done()) return scheduler_->advance();
    if (scheduler_->fresh()) scheduler_->clear(scheduler_->fresh());
    scheduler_.reset();
    if (floating_) settle();
    timed_ = 0, time_ = 0;  // now it is known which tiles are written back permuted
    std::vector<Piece>().swap(candidate.work);
    std::vector<WorkOutline>().swap(outlines_);
    return true;
}

// Puts the steps on the places of their bits; see Floating.
void Attempt::settle() {
    floating_->follow(steps.steps.size());
    BitPlaces begin = floating_->beginning(), end_places;  // a new state may begin anywhere
    if (!places_) std::iota(begin.begin(), begin.end(), 0);
    for (int place : floating_->at()) end_places.push_back(begin[place]);
    candidate.start = moved(candidate.start, begin), candidate.end = moved(candidate.end, end_places);
    floating_->settle(begin, steps, *candidate.context);
    floating_.reset();
}

// Puts all work on other bits: bit b becomes bit to[b].
void Attempt::move(const std::vector<int>& to) {
    reordered = true;
    candidate.start = moved(candidate.start, to), candidate.end = moved(candidate.end, to);
    for (Piece& piece : candidate.work) {
        Mask* words = candidate.context->words.data() + piece.words;
        for (int k = 0; k < 2 * piece.num_mixed + piece.num_reads; ++k) words[k] = moved(words[k], to);
        piece.mixed.units = moved(piece.mixed.units, to);
        piece.touched = moved(piece.touched, to);
        piece.when = {moved(piece.when.mask, to), moved(piece.when.value, to)};
    }
}

double Attempt::time() {
    for (; timed_ < steps.steps.size(); ++timed_) time_ += time_of(steps.steps[timed_]);
    return time_;
}

double Attempt::time_of(const Step& step) {
    double all_of_it = amplitudes(num_bits_), memory = all_of_it, work = 0;
    double before = amplitudes(num_bits_ - count(static_cast<Mask>(step.fresh)));
    if (step.type == Step::sweep) {
        double after = amplitudes(num_bits_ - count(static_cast<Mask>(step.fresh & ~step.tile)));
        memory = shape_.slowed() * (before + after) / 2;
        SweepWork found = sweep_work(step, steps, *candidate.context, shape_);
        work = found.work + found.permuted + found.crowded * found.work;
        work += shape_.exchanged * static_cast<double>(step.end - step.begin) + (step.num_bits ? shape_.transposed : 0.0);
        work *= std::ldexp(after, -count_unmixed(step, steps, *candidate.context, shape_));
    } else if (step.type == Step::zero_fill) {
        memory = (all_of_it - before) / 2;
    } else if (step.type == Step::dense_matrix) {
        memory = all_of_it * share(step.when_mask);
        work = 4.0 * amplitudes(static_cast<int>(step.num_bits)) * memory;
    }
    return shape_.taken(memory, work / shape_.counted) + amplitudes(shape_.start);
}

}  // namespace qx::plan
