// A run on a GPU as one list of launches; see kernels/run_words.hpp for the meaning of its words.
#pragma once

#include <span>

#include "planner/encode/launches/launch_tables.hpp"
#include "planner/encode/launches/number_schedule.hpp"
#include "planner/encode/programs/programs.hpp"
#include "planner/plan.hpp"

namespace qx::plan {

// A sweep that has a kernel of its own, by the kernel's handle in the driver; the handle is 0 for one that is interpreted.
// values, tables: takes of numbers by value and from memory, as in `ProgramEnd`. pivots: see kernels/pivots.hpp.
struct SweepKernel {
    Int handle, threads, skipped_bits;
    const Int* values;
    Int num_values;
    const Int* tables;
    Int num_tables;
    const std::int32_t* pivots;
    Int num_pivots;
};

// The other kernels of a list by their numbers, as in qsim_ex.kernels.cuda.launch.layout.
enum RunKernel : Int { begin_kernel, few_kernel, many_kernel, memory_kernel, scale_kernel, numbers_kernel };

// A list of launches whose kernels and device addresses are not known yet.
//
// kernels: the places in `words` of kernels' numbers. addresses: those of arguments to which the address of `sent` on the
// device is added. constants: where in the room (counted in reals) 0, 1 and -1 stand. tables: reals made on the device.
struct LaunchArrays : RunWords {
    std::vector<std::uint32_t> sent;
    std::vector<Int> kernels, addresses;
    Int room = 0, constants = 0, tables = 0;
};

class LaunchWriter {
  public:
    // kernels: of all sweeps, and then the planner has listed its numbers; or null if none has a kernel of its own. Then all
    // numbers are computed before the first launch, in the planner's order, which takes the host least time in all.
    // programs: of all sweeps, if one is interpreted.
    LaunchWriter(const Planner& plan, const SweepPrograms& programs, const SweepKernel* kernels,
                 const LaunchSetting& setting, LaunchArrays& out);

    // Returns false if a step is neither a sweep nor a ZeroFill, or if one real number has more factors than a kernel takes.
    bool write();

  private:
    // A sweep, and where its numbers go: to the room's values, and to the tables, both in reals. own: its kernel, or null.
    // program: its words. by_value, far: takes, of numbers in memory in two parts.
    struct SweepRow {
        const SweepKernel* own;
        RunKernel kernel;
        std::span<const std::uint32_t> program;
        Int threads, skipped_bits;
        Int packed, count;  // the numbers that it is given
        std::span<const Int> by_value, far[2];
        Int values, tables, num_tables;
    };

    // A launch of the list: of a table part or of a sweep, by its number; of the kernel that begins a state; of a ZeroFill.
    struct Stage {
        enum Kind { begin, table, sweep, zero_fill } kind;
        std::size_t number;
    };

    bool look();
    SweepRow interpreted(std::size_t number) const;
    RunKernel kernel_for(Int words, Int numbers) const;
    Int in_buffer(Int take, const SweepRow& row) const;
    void lay_out_room();
    std::vector<Stage> stages() const;
    std::vector<Int> takes(const Stage& stage) const;
    std::vector<Int> far() const;
    std::vector<Int> starts() const;
    std::vector<TableEntry> entries();
    NumberSchedule schedule(const std::vector<Stage>& stages, std::vector<TableEntry> entries);
    void at_once(const std::vector<TableEntry>& entries);
    void launch(const Stage& stage);
    Int take(const Stage& stage, Word kind, Int to);
    void launch(Int kernel, Int blocks, Int threads, std::initializer_list<Int> arguments);
    void table(const Stage& stage);
    void sweep(const Stage& stage);
    void zero_fill(Mask fresh);

    const Planner& plan_;
    const RunNumbers numbers_;
    const Int num_operands_;
    const SweepPrograms& programs_;
    const SweepKernel* kernels_;
    const LaunchSetting& setting_;
    LaunchArrays& out_;

    Int real_, size_;  // the bytes of a real; the numbers
    LaunchTables tables_;
    std::vector<SweepRow> sweeps_;
    Int num_values_ = 0, num_tables_ = 0;  // reals
    Int factors_at_ = 0, aside_ = 0, values_at_ = 0, slots_ = 0;  // in the room, in bytes
};

}  // namespace qx::plan
