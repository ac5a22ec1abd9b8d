// The tables of a run on a GPU that the device makes, in one launch or several.
#pragma once

#include <span>
#include <vector>

#include "planner/encode/launches/run_numbers.hpp"

namespace qx::plan {

// What a kernel of the interpreter takes by value: words, and bytes of numbers.
struct Capacity {
    Int words, numbers;

    Int room() const { return 32 + 4 * words + numbers; }
};

constexpr int numbers_kernels = 3;

// num_bits: of the state. real_bytes: of the numbers that kernels compute with. room: the bytes that a kernel may take by
// value. limits: the real numbers that each kernel takes that makes tables.
struct LaunchSetting {
    Int num_bits, real_bytes, room;
    Capacity few, many;
    Int limits[numbers_kernels];
};

// A part of the tables that one launch makes: its reals, its records in `sent`, and its input among the factors.
struct TablePart {
    Int first, count, sent, factors, num_factors;
    int limit;  // which kernel makes it
};

// Lays out the making of reals: a word for each, and records of the factors of entries; see TableRecipe of
// qsim_ex.kernels.cuda.launch.tables.
class LaunchTables {
  public:
    // sent: where words and records go.
    LaunchTables(const RunNumbers& numbers, const LaunchSetting& setting, std::vector<std::uint32_t>& sent)
        : numbers_(numbers), setting_(setting), sent_(sent) {}

    // Lays out some reals, given as takes over the coefficient buffer; returns false if one has more factors than a kernel
    // takes by value. starts: where those of each sweep begin.
    bool lay_out(std::vector<Int> reals, std::vector<Int> starts);

    const std::vector<TablePart>& parts() const { return parts_; }
    // Takes of the input of a part.
    std::span<const Int> factors(std::size_t part) const {
        const TablePart& of = parts_[part];
        return std::span(factors_).subspan(static_cast<std::size_t>(of.factors), static_cast<std::size_t>(of.num_factors));
    }

  private:
    bool lay_out(std::size_t first, std::size_t last);
    std::vector<std::uint32_t> recorded(std::vector<Index>& entries, std::size_t words, std::vector<Int>& factors) const;
    bool in_halves(std::size_t first, std::size_t last);
    std::size_t middle(std::size_t first, std::size_t last) const;

    const RunNumbers& numbers_;
    const LaunchSetting& setting_;
    std::vector<std::uint32_t>& sent_;
    std::vector<Int> reals_, starts_, factors_;
    std::vector<TablePart> parts_;
};

}  // namespace qx::plan
