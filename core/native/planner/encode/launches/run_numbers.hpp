// The numbers of a plan as a run on a GPU has them: how many there are, which ones sweeps take, and its tables.
#pragma once

#include "planner/encode/launches/number_schedule.hpp"
#include "planner/plan.hpp"

namespace qx::plan {

// In the order in which the planner asked for them, or as they are listed.
class RunNumbers {
  public:
    // A table: the place of its first entry, and where its factors and its incidence are.
    struct Table {
        Int at, entries, factors;
        const Index* of;
        const std::uint64_t* incidence;

        Int words() const { return (factors + 63) / 64; }
    };

    // listed: whether they are those of the listed program, which the planner has made then.
    RunNumbers(const Planner& plan, bool listed)
        : packed_(listed ? plan.listed().packed.data() : plan.steps.packed.data()), size_(plan.program().num_operands()),
          first_(size_) {
        if (listed) list(plan.listed());
        else take(plan.program());
        if (!tables_.empty()) first_ = tables_.front().at;
        number_.resize(tables_.empty() ? 0 : static_cast<std::size_t>(size_ - first_));
        for (const Table& table : tables_)
            for (Int row = 0; row < table.entries; ++row)
                number_[static_cast<std::size_t>(table.at + row - first_)] = static_cast<Index>(++num_entries_);
    }

    // All numbers, the operands included.
    Int size() const { return size_; }
    Int packed(Int which) const { return static_cast<Int>(packed_[which]); }
    // Ascending by their places.
    const std::vector<Table>& tables() const { return tables_; }
    Int num_entries() const { return num_entries_; }
    // Whether a place is that of a table's entry, and the number of that, counted from the first one on.
    bool is_entry(Int place) const { return place >= first_ && !number_.empty() && number_[at(place)]; }
    std::size_t entry(Int place) const { return number_[at(place)] - 1; }

  private:
    std::size_t at(Int place) const { return static_cast<std::size_t>(place - first_); }
    void list(const CoefficientArrays& numbers) {
        for (const Instruction& row : numbers.program) {
            if (row.type != Instruction::fold) {
                size_ += appended(row);
                continue;
            }
            const Index* of = numbers.places.data() + row.at;
            const std::uint64_t* incidence = numbers.incidence.data() + row.bits;
            for (Int table = 0; table < row.count; ++table, of += row.factors, size_ += row.entries) {
                tables_.push_back({size_, row.entries, row.factors, of, incidence});
                incidence += row.entries * tables_.back().words();
            }
        }
    }
    void take(const CoefficientProgram& program) {
        size_ = program.size();
        for (const Fold& fold : program.folds())
            tables_.push_back({static_cast<Int>(fold.start), static_cast<Int>(fold.entries), static_cast<Int>(fold.factors),
                               program.factors(fold), program.incidence(fold)});
    }

    const Index* packed_;
    Int size_, first_, num_entries_ = 0;
    std::vector<Table> tables_;
    std::vector<Index> number_;  // of the entry at each place from the first table's on, counted from 1; 0 for others
};

}  // namespace qx::plan
