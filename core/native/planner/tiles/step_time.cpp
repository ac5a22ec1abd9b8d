// What steps take.

#include "planner/tiles/step_time.hpp"

#include <algorithm>
#include <cmath>

#include "base/export.hpp"
#include "planner/blocks/links.hpp"
#include "planner/steps.hpp"
#include "planner/tiles/unmixed.hpp"

namespace qx::plan {

namespace {

double halved(Mask bits) { return std::ldexp(1.0, -count(bits)); }

constexpr Int matrix_bits = 4;  // of a dense block's matrix; `BLOCK_BITS` in qsim_ex.steps.layout

// The pattern of RXX, RYY and their products. A sweep with more than so many of them takes by this share longer for each one
// beyond: its instructions do not fit into the nearest caches. (H200: 64 pairs took 1.45 times as long as their arithmetic
// says, 33 took 1.1, 27 and fewer as long.)
constexpr char pair[] = {real, zero, zero, imag, zero, real, imag, zero, zero, imag, real, zero, imag, zero, zero, real};
constexpr int crowd = 25;
constexpr double crowded = 0.012;

bool is(const Item& item, Kind kind) { return item.kind == static_cast<Int>(kind); }

bool is_pair(const Item& item, PlanContext& context) {
    return is(item, Kind::mix) && !item.num_reads && !item.when_mask &&
           context.patterns[static_cast<Index>(item.pattern)] == Interned::Bytes(pair, sizeof pair);
}

// As how many multiply-adds for each amplitude it counts that threads look up the numbers of a matrix that they select.
// (H200, 265 sweeps.) One that exchanges amplitudes, or does not, counts as a permutation.
constexpr double looked_up_numbers = 3.5;

// The multiply-adds of an item's numbers. registers: the bits that tell a thread which entry it looks up. when: the bits of
// its condition that leave amplitudes out.
double arithmetic(const Item& item, Mask registers, Mask when, const Shape& shape, PlanContext& context) {
    if (is(item, Kind::permute)) return 0;
    const double share = halved(when);
    const Mask* reads = context.words.data() + item.words + 2 * item.num_bits;
    const Index looked_up = shape.in_vectors() ? 0 : elsewhere(reads, static_cast<int>(item.num_reads), registers);
    const Index pattern = static_cast<Index>(item.pattern);
    if (is(item, Kind::diagonal)) return context.patterns.diagonal_work(pattern, looked_up) * share;
    const double work = context.patterns.mix_work(pattern, 1 << item.num_bits, shape.in_vectors(), looked_up) * share;
    return shape.has_blocks && item.num_bits == matrix_bits && !item.num_reads ? std::min(work, shape.block) : work;
}

// Whether threads select the matrix of an item.
bool is_selected(const Item& item, Mask registers, const PlanContext& context) {
    const Mask* reads = context.words.data() + item.words + 2 * item.num_bits;
    return is(item, Kind::mix) && elsewhere(reads, static_cast<int>(item.num_reads), registers);
}

// Whether a permutation is a CX of bits in the number of a row, which moves nothing where a tile is whole in a cache.
bool is_free(const Item& item, const Shape& shape, const PlanContext& context) {
    const Index* to = context.values.data() + item.to;
    const Mask touched =
        static_cast<Mask>(item.when_mask) | (item.num_bits ? context.words[static_cast<std::size_t>(item.words)] : 0);
    return item.num_bits == 1 && to[0] == 1 && to[1] == 0 && count(static_cast<Mask>(item.when_mask)) == 1 &&
           !(touched & below(shape.low));
}

// As how many multiply-adds per amplitude the items of a sweep count where amplitudes are computed as vectors, with their
// loads and stores in a tile; fitted to 252 plans of 71 families (one thread of a CPU, 20 wires, complex64; decision 0056).
class VectorWork {
  public:
    VectorWork(const Shape& shape, const PlanContext& context) : shape_(shape), context_(context) {}

    // Returns that of the next item, whose numbers take some work.
    double of(const Item& item, double work) {
        constexpr double phases = 4, on_one_bit = 0.7;  // times multiply-adds: a lookup beside them; rows shared with others
        constexpr double chosen = 10;  // a matrix that other bits choose
        constexpr double blocks[] = {10, 23};  // most of whose work others do; see `LinkedBlock`
        const Mask* words = context_.words.data() + item.words;
        Mask touched = static_cast<Mask>(item.when_mask);
        for (Int k = 0; k < 2 * item.num_bits + item.num_reads; ++k) touched |= words[k];
        const bool block = is_block(context_, item), turned = block && !(touched & ~ends_);
        if (block) ends_ |= touched;
        else ends_ &= ~touched;
        if (is(item, Kind::permute)) return is_free(item, shape_, context_) ? 0 : shape_.item_work;
        if (is(item, Kind::diagonal)) return phases * work;
        if (item.num_reads) return chosen;
        return turned ? blocks[item.num_bits - 2] : shape_.item_work + (item.num_bits == 1 ? on_one_bit * work : work);
    }

  private:
    const Shape& shape_;
    const PlanContext& context_;
    Mask ends_ = ~Mask{0};  // bits on which nothing but blocks came last, in this sweep
};

}  // namespace

SweepWork sweep_work(const Step& sweep, const StepArrays& steps, PlanContext& context, const Shape& shape) {
    SweepWork out;
    VectorWork vectors(shape, context);
    double permuted = 0, selected = 0;
    int pairs = 0;
    for (Int k = sweep.begin; k < sweep.end; ++k) {
        const RegisterBlock& block = steps.register_blocks[static_cast<std::size_t>(k)];
        for (Int at = block.begin; at < block.end; ++at) {
            const Item& item = steps.items[static_cast<std::size_t>(at)];
            const Mask registers = static_cast<Mask>(block.registers);
            // Where threads of a tile differ a condition spares nothing: a warp computes what any of its threads needs.
            const Mask parted = shape.in_vectors() ? 0 : static_cast<Mask>(sweep.tile) & ~registers;
            const Mask when = static_cast<Mask>(item.when_mask) & ~parted;
            const double work = arithmetic(item, registers, when, shape, context);
            if (is_selected(item, registers, context))
                selected += halved(when) * (work > 0 ? looked_up_numbers : shape.permute);
            out.arithmetic += work;
            if (shape.in_vectors()) out.counted += vectors.of(item, work);
            else pairs += is_pair(item, context);
            permuted += is(item, Kind::permute) ? shape.permute : 0;
        }
    }
    if (!shape.in_vectors()) out.counted = out.arithmetic * (1 + crowded * std::max(0, pairs - crowd)) + selected;
    out.counted += permuted + shape.exchanged * static_cast<double>(sweep.end - sweep.begin);
    out.counted += sweep.num_bits ? shape.transposed : 0;
    return out;
}

double work_of_code(const Item& item, Mask registers, const Shape& shape, PlanContext& context) {
    return arithmetic(item, registers, static_cast<Mask>(item.when_mask) & registers, shape, context);
}

double time_of(const StepArrays& steps, const Step& step, int num_bits, const Shape& shape, PlanContext& context) {
    const Mask fresh = static_cast<Mask>(step.fresh);
    const double before = halved(fresh);
    double memory = 1, work = 0;
    if (step.type == Step::sweep) {
        const double after = halved(fresh & ~static_cast<Mask>(step.tile));
        memory = shape.slowed() * (before + after) / 2 + (step.num_loads ? shape.elsewhere * after : 0);
        work = sweep_work(step, steps, context, shape).counted;
        work *= std::ldexp(after, -count_unmixed(step, steps, context, shape));
    } else if (step.type == Step::zero_fill) {
        memory = (1 - before) / 2;
    } else if (step.type == Step::dense_matrix) {
        memory = halved(static_cast<Mask>(step.when_mask));
        work = std::ldexp(4.0, static_cast<int>(step.num_bits)) * memory;
    }
    return shape.taken(memory, work / shape.rate()) + std::ldexp(1.0, shape.start - num_bits);
}

double time_of(const StepArrays& steps, int num_bits, const Shape& shape, PlanContext& context) {
    double total = 0;
    for (const Step& step : steps.steps) total += time_of(steps, step, num_bits, shape, context);
    return total;
}

}  // namespace qx::plan

// Writes the `SweepWork` of a step of a plan (its `PlanSteps`). rates: item_work, block, exchanged, transposed, permute of
// the shape; block is below 0 where there are none.
QX_EXPORT(sweep_work, (qx::Int steps, qx::Int number, qx::Int low, const double* rates, double* out)) {
    auto& plan = *reinterpret_cast<qx::plan::PlanSteps*>(steps);
    qx::plan::Shape shape{};
    shape.low = static_cast<int>(low), shape.item_work = rates[0], shape.block = rates[1], shape.has_blocks = rates[1] >= 0;
    shape.exchanged = rates[2], shape.transposed = rates[3], shape.permute = rates[4];
    const qx::plan::SweepWork found =
        sweep_work(plan.steps.steps[static_cast<std::size_t>(number)], plan.steps, *plan.context, shape);
    out[0] = found.arithmetic, out[1] = found.counted;
    return 0;
}
