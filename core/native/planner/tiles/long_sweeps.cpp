// Sweeps whose kernels a GPU's instruction caches do not hold, as several.

#include "planner/tiles/long_sweeps.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/tiles/step_time.hpp"
#include "planner/tiles/unmixed.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

// The bytes of a kernel's machine code for each register block, item, and multiply-add of 16 amplitudes: least squares over
// the kernels of 198 circuits, which are off by an eighth in the mean.
constexpr double of_block = 2200, of_item = 94, of_multiply_add = 260;

constexpr double early = 0.15;  // by which share of a part it may end sooner, with a register block

// Writes steps anew, one after another.
class Cutter {
  public:
    Cutter(const StepArrays& from, const Shape& shape, PlanContext& context)
        : from_(from), shape_(shape), context_(context) {}

    // Returns how many parts a step is to have, of a state of 2^num_bits amplitudes.
    int parts(const Step& step, int num_bits) const {
        if (step.type != Step::sweep) return 1;
        const int visited = num_bits - count(static_cast<Mask>(step.fresh & ~step.tile));
        const double kilobytes = code_of(step) / 1024;
        if (visited < thresholds.code_bits || !(kilobytes > thresholds.code_kilobytes)) return 1;
        // What a sweep leaves out that nothing mixes is there once a part has written its tile.
        if (count_unmixed(step, from_, context_, shape_)) return 1;
        return static_cast<int>(std::ceil(kilobytes / static_cast<double>(thresholds.code_kilobytes)));
    }

    void add(const Step& step, int parts) {
        step_ = step, step_.begin = blocks();
        if (step.type == Step::sweep) add_blocks(step, parts);
        else to_.packed.insert(to_.packed.end(), packed(), from_.packed.begin() + step.packed);
        end_step();
        packed_ = step.packed;
    }

    StepArrays& made() { return to_; }

  private:
    using Numbers = std::vector<Index>;

    const Item& item(Int number) const { return from_.items[static_cast<std::size_t>(number)]; }
    const RegisterBlock& block(Int number) const { return from_.register_blocks[static_cast<std::size_t>(number)]; }
    Int blocks() const { return static_cast<Int>(to_.register_blocks.size()); }
    Int items() const { return static_cast<Int>(to_.items.size()); }
    Numbers::const_iterator packed() const { return from_.packed.begin() + packed_; }

    double code_of(const RegisterBlock& block, Int number) const {
        return of_item + of_multiply_add * work_of_code(item(number), static_cast<Mask>(block.registers), shape_, context_);
    }
    double code_of(const Step& sweep) const {
        double code = of_block * static_cast<double>(sweep.end - sweep.begin);
        for (Int k = sweep.begin; k < sweep.end; ++k)
            for (Int number = block(k).begin; number < block(k).end; ++number) code += code_of(block(k), number);
        return code;
    }

    void add_blocks(const Step& sweep, int parts) {
        const double share = parts > 1 ? code_of(sweep) / parts : 0;
        double code = 0;
        int part = 1;
        auto ends = [&](double before) { return part < parts && code + before > part * share; };
        for (Int k = sweep.begin; k < sweep.end; ++k) {
            if (blocks() > step_.begin && ends(early * share)) ++part, next_part(sweep);
            code += of_block;
            if (part > 1 && blocks() == step_.begin) begin_with(block(k));
            else open(block(k));
            for (Int number = block(k).begin; number < block(k).end; ++number) {
                const double more = parts > 1 ? code_of(block(k), number) : 0;
                if (ends(more / 2)) {
                    ++part, close();
                    next_part(sweep);
                    begin_with(block(k));
                }
                add_item(item(number));
                code += more;
            }
            close();
        }
        step_.words = sweep.words, step_.num_bits = sweep.num_bits;
    }

    // Opens the first register block of a part; edge bits are not register bits where a tile is read or written.
    void begin_with(const RegisterBlock& block) {
        if (meets_edge(block)) add_empty();
        open(block);
    }
    void open(const RegisterBlock& block) { to_.register_blocks.push_back({block.registers, items(), 0}); }
    void close() { to_.register_blocks.back().end = items(); }

    bool meets_edge(const RegisterBlock& block) const { return static_cast<Mask>(block.registers) & below(shape_.edge); }
    void add_empty() {
        const Directions inner{static_cast<Mask>(step_.tile) & ~below(shape_.edge)};
        to_.register_blocks.push_back({static_cast<Int>(fill({}, inner, shape_.registers, false).units), items(), items()});
    }

    // Adds an item with its numbers; the slots of tables begin behind all numbers of the part.
    void add_item(Item item) {
        Numbers& into = item.num_reads ? tables_ : numbers_;
        const auto begin = packed() + item.slot;
        item.slot = static_cast<Int>(into.size());
        into.insert(into.end(), begin, begin + item.count);
        to_.items.push_back(item);
    }

    // Ends a part: it is written as it was read, with its tile, and so the state has grown.
    void next_part(const Step& sweep) {
        step_.words = step_.num_bits = 0;
        if (meets_edge(to_.register_blocks.back())) add_empty();
        end_step();
        step_ = sweep;
        step_.begin = blocks(), step_.fresh = sweep.fresh & ~sweep.tile;
    }

    void end_step() {
        step_.end = blocks();
        if (step_.type == Step::sweep) {
            step_.numbers = static_cast<Int>(numbers_.size()), step_.tables = static_cast<Int>(tables_.size());
            for (Int k = step_.begin; k < step_.end; ++k) set_slots(to_.register_blocks[static_cast<std::size_t>(k)]);
            to_.packed.insert(to_.packed.end(), numbers_.begin(), numbers_.end());
            to_.packed.insert(to_.packed.end(), tables_.begin(), tables_.end());
            numbers_.clear(), tables_.clear();
        }
        step_.packed = static_cast<Int>(to_.packed.size());
        to_.steps.push_back(step_);
    }
    void set_slots(const RegisterBlock& block) {
        for (Int k = block.begin; k < block.end; ++k) {
            Item& item = to_.items[static_cast<std::size_t>(k)];
            if (item.num_reads) item.slot += step_.numbers;
        }
    }

    const StepArrays& from_;
    const Shape& shape_;
    PlanContext& context_;
    StepArrays to_;
    Step step_{};           // in the making
    Int packed_ = 0;        // where the numbers of the step before end
    Numbers numbers_, tables_;  // of the part in the making
};

}  // namespace

std::vector<std::size_t> cut_long_sweeps(StepArrays& steps, int num_bits, const Shape& shape, PlanContext& context) {
    if (shape.in_vectors() || shape.most_blocks >= 0) return {};  // no kernels are made for such devices
    Cutter cutter(steps, shape, context);
    std::vector<int> parts;
    for (const Step& step : steps.steps) parts.push_back(cutter.parts(step, num_bits));
    if (std::ranges::all_of(parts, [](int count) { return count == 1; })) return {};
    std::vector<std::size_t> ends;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        cutter.add(steps.steps[k], parts[k]);
        ends.push_back(cutter.made().steps.size());
    }
    steps = std::move(cutter.made());
    return ends;
}

}  // namespace qx::plan
