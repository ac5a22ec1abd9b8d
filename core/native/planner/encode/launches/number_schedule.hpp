// A plan's coefficient program, ordered so that each number is computed right before the first launch that takes it.
#pragma once

#include "kernels/run_words.hpp"
#include "planner/coefficients/program.hpp"

namespace qx::plan {

// The words and the places of a run, while they are written.
struct RunWords {
    std::vector<Int> words;
    std::vector<std::int32_t> places;

    template <class... Words>
    void add(Words... added) {
        (words.push_back(static_cast<Int>(added)), ...);
    }
    Int next_place() const { return static_cast<Int>(places.size()); }
};

// An entry of a table that the host makes: its place, and its factors, which stand among a run's places.
struct TableEntry {
    Int place, factors, count;
};

// How many numbers an instruction appends to the coefficient buffer.
Int appended(const Instruction& row);

class NumberSchedule {
  public:
    // first: for each number the first launch that takes it, or how many launches there are. entries: with their factors
    // among the places of `out`.
    NumberSchedule(const CoefficientArrays& numbers, Int num_operands, std::vector<Int> first, Int launches,
                   std::vector<TableEntry> entries, RunWords& out);

    // Writes the instructions for the numbers that this launch is the first to take; called for each launch in order.
    void before(Int launch);

  private:
    // Work of one kind, in pieces that can be done alone. listed: the places of all pieces, `width` for each. tail: what
    // stands behind the number of pieces in the instruction. begins: of the pieces of each launch in `order`.
    struct Work {
        Word kind;
        Int pieces, results, made, width;
        std::vector<Int> tail;
        std::vector<std::int32_t> listed;
        std::vector<std::size_t> order, begins;
    };

    Work work(const Instruction& row, Int results) const;
    Work entries_of(const Instruction& row, Int results) const;
    bool in_rows(const Instruction& row) const;
    void order(Work& work, std::vector<Int>& first, Int launches) const;

    const CoefficientArrays& numbers_;
    std::vector<TableEntry> entries_;
    std::vector<Int> soonest_;  // of each entry
    std::size_t next_entry_ = 0;
    std::vector<Work> works_;
    RunWords& out_;
};

}  // namespace qx::plan
