// From the work of a stage to its steps: sweeps with their register blocks and items, and the steps that are not sweeps.
//
// Filling a tile makes a sweep and filling the registers makes a register block inside a sweep, both by `grow` of
// locality.hpp; a state grows while it is planned (growth.hpp).
#pragma once

#include "planner/coefficients/program.hpp"
#include "planner/growth.hpp"

namespace qx::plan {

// The steps of a plan as rows of numbers; qsim_ex.steps.compiled reads them.
struct Step {
    enum Type : Int { sweep, dense_matrix, basis_permutation, initial_amplitudes, zero_fill };
    Int type;
    Int tile;          // of a sweep
    Int fresh;         // of a sweep or a zero fill
    Int begin, end;    // its register blocks
    Int numbers, tables;
    Int packed;        // where its packed numbers end
    // Where its bits stand in `words`, and how many; of a sweep the columns of the map by which it is written, none if it is
    // the one by which it is read: those of its tile, or of all bits. Of the other steps also reads, condition, `to`, held
    // value, label.
    Int words, num_bits, num_reads, when_mask, when_value, to, held, label;
    Int loads, num_loads;  // likewise of a sweep the columns by which it is read: of all bits, none if all stay
};

struct RegisterBlock {
    Int registers, begin, end;  // the mask of its register bits, and its items
};

struct Item {
    Int kind, num_bits, num_reads, words, when_mask, when_value, pattern, slot, count, to, label;
};

// The reads that some registers do not tell, as a mask of their numbers.
inline Index elsewhere(const Mask* reads, int num_reads, Mask registers) {
    Index out = 0;
    for (int k = 0; k < num_reads; ++k)
        if (reads[k] & ~registers) out |= Index{1} << k;
    return out;
}

struct StepArrays {
    std::vector<Step> steps;
    std::vector<RegisterBlock> register_blocks;
    std::vector<Item> items;
    std::vector<Index> packed;
};

// Cuts the work of one sweep into register blocks, and writes it.
class RegisterBlockWriter {
  public:
    RegisterBlockWriter(const Shape& shape, PlanContext& context, CoefficientProgram& program, StepArrays& out)
        : shape_(shape), context_(context), program_(program), out_(out) {}

    // Takes some of the work for a tile. reading, writing: the bits that lie across the lanes when the tile is read, and
    // when it is written.
    void begin(Pending work, Directions tile, Directions reading, Directions writing);
    // Finds register blocks for some of it; returns whether all were found.
    bool advance();
    // The work that did not fit into the register blocks.
    const Pending& left() const { return left_; }
    // Appends the sweep. work: the pieces by their numbers. making: of `Shape`, for dense blocks.
    void write(Step step, const std::vector<Piece>& work, double making);

  private:
    // A register block before its items are made: its register bits, and the end of the pieces that run in it.
    struct OpenBlock {
        Directions registers;
        std::size_t end;
    };

    const Shape& shape_;
    PlanContext& context_;
    CoefficientProgram& program_;
    StepArrays& out_;
    Reasons reasons_;
    Pending left_;
    Directions tile_, reading_, writing_;
    std::vector<Index> in_blocks_;
    std::vector<OpenBlock> blocks_;
};

// Turns the work of one stage into steps, one step at a time.
class Scheduler {
  public:
    // floating: where bits are, if sweeps may move them; steps are still in the bits that the work names. worth, last: see
    // Growth.
    Scheduler(const std::vector<Piece>& work, const std::vector<WorkOutline>& outlines, int num_bits, const Shape& shape,
              Mask fresh, PlanContext& context, CoefficientProgram& program, StepArrays& out, Floating* floating,
              double worth, Mask last = 0);

    bool done() const { return pending_.empty() && !sweeping_; }
    // Does a bounded amount of work: a step, or some register blocks of a sweep; returns false if a sweep runs no work.
    bool advance();
    // The bits that are fresh after the steps.
    Mask fresh() const { return growth_.fresh.units; }
    // Appends the step that writes the zeros of some bits.
    void clear(Mask fresh);

  private:
    void complete();
    void alone(const Piece& piece);
    void begin_sweep();
    bool end_sweep();

    const std::vector<Piece>& work_;
    const Shape& shape_;
    PlanContext& context_;
    StepArrays& out_;
    RegisterBlockWriter sweep_;
    Growth growth_;
    Floating* floating_;
    Pending pending_;
    Reasons reasons_;

    bool sweeping_ = false;
    bool blocks_done_ = false;
    Directions tile_;
    Mask fresh_before_ = 0;
    std::vector<Index> ready_;  // the work of the sweep
};

}  // namespace qx::plan
