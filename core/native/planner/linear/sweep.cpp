// One sweep over a subspace, from its tile and its work, and the time that steps take.

#include "planner/linear/sweep.hpp"

#include <cmath>

#include "planner/blocks/links.hpp"
#include "planner/linear/coordinates.hpp"
#include "planner/tiles/unmixed.hpp"

namespace qx::plan {

namespace {

constexpr Int block_bits = 4;  // of a dense block's matrix

double halved(int times) { return std::ldexp(1.0, -times); }

// Writes work in the coordinates of a tile; the directions that it mixes first are positions.
Coordinates written(const FramedWork& work, const TileVisit& visit, const Around& around, int low, PlanContext& context) {
    std::vector<Oriented> basis;
    auto add = [&](Mask direction, Mask row) { basis.push_back({image(around.before, direction), row}); };
    Vectors used;
    for (Index number : visit.work)
        for (int k = 0; k < work[number].piece.num_mixed; ++k) {
            Mask direction = work.directions(work[number])[k];
            if (std::find(used.begin(), used.end(), direction) != used.end()) continue;
            used.push_back(direction);
            add(direction, work.rows(work[number])[k]);
        }
    for (Mask direction : visit.tile) add(direction, 0);
    Coordinates made(inverse(around.before), basis, low, around.fresh, context);
    for (Index number : visit.work) made.place(work, work[number]);
    return made;
}

double item_work(const Item& item, const Shape& shape, PlanContext& context) {
    if (item.kind == static_cast<Int>(Kind::permute)) return 0;
    double share = halved(count(static_cast<Mask>(item.when_mask)));
    Index pattern = static_cast<Index>(item.pattern);
    if (item.kind == static_cast<Int>(Kind::diagonal)) return context.patterns.diagonal_work(pattern, 0) * share;
    double work = context.patterns.mix_work(pattern, 1 << item.num_bits, shape.in_vectors()) * share;
    return shape.has_blocks && item.num_bits == block_bits && !item.num_reads ? std::min(work, shape.block) : work;
}

// Whether a permutation is a CX of bits in the number of a row, which moves nothing where a tile is whole in a cache.
bool is_free(const Item& item, const Shape& shape, const PlanContext& context) {
    const Index* to = context.values.data() + item.to;
    Mask touched =
        static_cast<Mask>(item.when_mask) | (item.num_bits ? context.words[static_cast<std::size_t>(item.words)] : 0);
    return item.kind == static_cast<Int>(Kind::permute) && item.num_bits == 1 && to[0] == 1 && to[1] == 0 &&
           count(static_cast<Mask>(item.when_mask)) == 1 && !(touched & below(shape.low));
}

// As how many multiply-adds per amplitude the items of a sweep count where amplitudes are computed as vectors, with their
// loads and stores in a tile; fitted to 252 plans of 71 families (one thread of a CPU, 20 wires, complex64; decision 0056).
class VectorWork {
  public:
    VectorWork(const Shape& shape, PlanContext& context) : shape_(shape), context_(context) {}

    // Returns that of the next item.
    double of(const Item& item) {
        constexpr double phases = 4, on_one_bit = 0.7;  // times multiply-adds: a lookup beside them; rows shared with others
        constexpr double chosen = 10;  // a matrix that other bits choose
        constexpr double blocks[] = {10, 23};  // most of whose work others do; see `LinkedBlock`
        const Mask* words = context_.words.data() + item.words;
        Mask touched = static_cast<Mask>(item.when_mask);
        for (Int k = 0; k < 2 * item.num_bits + item.num_reads; ++k) touched |= words[k];
        const bool block = is_block(context_, item), turned = block && !(touched & ~ends_);
        if (block) ends_ |= touched;
        else ends_ &= ~touched;
        if (item.kind == static_cast<Int>(Kind::permute) && is_free(item, shape_, context_)) return 0;
        const double work = item_work(item, shape_, context_);
        if (item.kind == static_cast<Int>(Kind::diagonal)) return phases * work;
        if (item.num_reads) return chosen;
        return turned ? blocks[item.num_bits - 2] : shape_.item_work + (item.num_bits == 1 ? on_one_bit * work : work);
    }

  private:
    const Shape& shape_;
    PlanContext& context_;
    Mask ends_ = ~Mask{0};  // bits on which nothing but blocks came last, in this sweep
};

}  // namespace

bool LinearSweeps::write(const TileVisit& visit, const Around& around) {
    Coordinates made = written(work_, visit, around, shape_.low, context_);
    Map store = made.arrive(around.after, shape_.in_vectors());
    Directions edges{};
    each(made.tile, [&](int bit) {
        if (store[at(bit)] < unit(shape_.edge)) edges.units |= unit(bit);
    });
    std::vector<WorkOutline> outlines(made.work.begin(), made.work.end());
    blocks_.begin(Pending::of(outlines), {made.tile}, {below(shape_.edge)}, edges);
    while (!blocks_.advance()) {
    }
    if (!blocks_.left().empty()) return false;
    Step step{};
    step.tile = static_cast<Int>(made.tile), step.fresh = static_cast<Int>(around.fresh);
    auto put = [&](const Map& columns, Int& words, Int& size) {
        words = static_cast<Int>(context_.words.size()), size = static_cast<Int>(columns.size());
        context_.words.insert(context_.words.end(), columns.begin(), columns.end());
    };
    if (made.load != units(static_cast<int>(made.load.size()))) put(made.load, step.loads, step.num_loads);
    if (store != made.load) put(store, step.words, step.num_bits);
    blocks_.write(step, made.work, shape_.making(static_cast<int>(visit.mixed.size())));
    return true;
}

double time_of(const StepArrays& steps, const Step& sweep, int num_bits, const Shape& shape, PlanContext& context) {
    double amplitudes = std::ldexp(1.0, num_bits), work = 0, permuted = 0;
    VectorWork vectors(shape, context);
    Mask fresh = static_cast<Mask>(sweep.fresh), tile = static_cast<Mask>(sweep.tile);
    for (Int p = sweep.begin; p < sweep.end; ++p)
        for (Int k = steps.register_blocks[static_cast<std::size_t>(p)].begin;
             k < steps.register_blocks[static_cast<std::size_t>(p)].end; ++k) {
            const Item& item = steps.items[static_cast<std::size_t>(k)];
            work += shape.in_vectors() ? vectors.of(item) : item_work(item, shape, context);
            permuted += item.kind == static_cast<Int>(Kind::permute) ? shape.permute : 0;
        }
    double before = amplitudes * halved(count(fresh)), share = halved(count(fresh & ~tile));
    double memory = shape.slowed() * (before + amplitudes * share) / (2 * amplitudes);
    memory += sweep.num_loads ? shape.elsewhere * share : 0;
    double blocks = static_cast<double>(sweep.end - sweep.begin);
    share *= halved(count_unmixed(sweep, steps, context, shape));
    work = work * (amplitudes * share) / amplitudes;
    work += (permuted + shape.exchanged * blocks + (sweep.num_bits ? shape.transposed : 0)) * share;
    return shape.taken(memory, work / shape.rate()) + std::ldexp(1.0, shape.start - num_bits);
}

double time_of(const StepArrays& steps, int num_bits, const Shape& shape, PlanContext& context) {
    double total = 0;
    for (const Step& step : steps.steps) {
        if (step.type == Step::sweep) {
            total += time_of(steps, step, num_bits, shape, context);
        } else {  // the zeros of fresh bits
            double memory = (1 - halved(count(static_cast<Mask>(step.fresh)))) / 2;
            total += memory + std::ldexp(1.0, shape.start - num_bits);
        }
    }
    return total;
}

}  // namespace qx::plan
