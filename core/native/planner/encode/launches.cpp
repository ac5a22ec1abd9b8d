// A first run on a GPU as one list of launches: takes of numbers, tables, and the interpreter for each sweep.

#include "planner/encode/launches.hpp"

#include <bit>
#include <memory>
#include <span>

#include "base/export.hpp"
#include "base/owned.hpp"

namespace qx::plan {

namespace {

enum Word : Int { end_word, operands_word, entry_word = 4, take_word, take_single_word, launch_word, bind_word };
enum Argument : Int { plain, state, in_tables, structure, kept };

constexpr Int aligned = 64;      // the numbers of each sweep begin at a multiple of this many reals
constexpr Int threads_of = 256;  // fixed kernels
constexpr Int most_blocks = Int{1} << 20;
constexpr Int other_arguments = 64;  // bytes of the other arguments of the kernels that make tables
constexpr Int most_arguments = 12;
constexpr Int longest = 6;  // words of an instruction that its reader reads at once

constexpr Int padded(Int count) { return (count + aligned - 1) / aligned * aligned; }
constexpr Int blocks_for(Int size) { return std::max(Int{1}, std::min(most_blocks, (size + threads_of - 1) / threads_of)); }

Int appended(const Instruction& row) {
    switch (row.type) {
        case Instruction::product: return row.count * row.blocks * row.size * row.columns;
        case Instruction::euler: return 7 * row.count;
        default: return row.count * row.entries;
    }
}

}  // namespace

LaunchWriter::LaunchWriter(const Planner& plan, const SweepPrograms& programs, const LaunchSetting& setting,
                           LaunchArrays& out)
    : plan_(plan), numbers_(plan.listed()), num_operands_(plan.program().num_operands()), programs_(programs),
      setting_(setting), out_(out), real_(setting.real_bytes) {
    tables_at_ = num_operands_;
    for (const Instruction& row : numbers_.program)
        if (row.type != Instruction::fold) tables_at_ += appended(row);
    size_ = tables_at_;
    for (const Instruction& row : numbers_.program)
        if (row.type == Instruction::fold) size_ += appended(row);
}

bool LaunchWriter::write() {
    if (size_ > (Int{1} << 29) || !look()) return false;  // places are integers of 32 bits
    std::vector<Int> takes = far();
    if (!lay_out_tables(takes, 0, takes.size())) return false;
    out_.constants = 2 * size_, out_.tables = num_tables_;
    factors_at_ = 16 * size_ + 32;
    Int most = 0;
    for (const TablePart& part : parts_) most = std::max(most, setting_.limits[part.limit]);
    values_at_ = factors_at_ + 8 * most;
    Int beyond = std::max(setting_.few.numbers, setting_.many.numbers);  // what the last struct may be longer
    slots_ = values_at_ + (num_values_ * real_ + beyond + 7) / 8 * 8;
    out_.room = slots_ + 8 * 2 * most_arguments;
    out_.words = {slots_ / 8, operands_word, num_operands_};
    if (tables_at_ > num_operands_)
        for (Int word : {Int{bind_word}, reinterpret_cast<Int>(numbers_.program.data()),
                         static_cast<Int>(numbers_.program.size()), reinterpret_cast<Int>(numbers_.places.data()),
                         reinterpret_cast<Int>(numbers_.incidence.data()), num_operands_})
            out_.words.push_back(word);
    entries();
    launch(begin_kernel, 1, 1, {state, 0, plain, 0});
    make_tables();
    auto row = sweeps_.begin();
    for (const Step& step : plan_.steps.steps) {
        if (step.type == Step::zero_fill) zero_fill(static_cast<Mask>(step.fresh));
        else sweep(*row++);
    }
    out_.words.insert(out_.words.end(), longest, end_word);
    out_.places.push_back(0);  // an empty array has no address
    return true;
}

// Chooses the kernel of each sweep, and lays out its numbers.
bool LaunchWriter::look() {
    ProgramEnd begin{};
    auto end = programs_.ends.begin();
    Int packed = 0;
    for (const Step& step : plan_.steps.steps) {
        if (step.type == Step::sweep) {
            Int shared = end->shared - begin.shared, tables = end->tables - begin.tables;
            RunKernel kernel = kernel_for(end->words - begin.words, shared * real_);
            bool by_value = kernel != memory_kernel;
            sweeps_.push_back({kernel, begin, *end, packed, step.packed - packed, num_values_, by_value ? shared : 0,
                               num_tables_, by_value ? tables : shared + tables});
            num_values_ += padded(sweeps_.back().num_values), num_tables_ += padded(sweeps_.back().num_tables);
            begin = *end++;
        } else if (step.type != Step::zero_fill) {
            return false;
        }
        packed = step.packed;
    }
    return true;
}

RunKernel LaunchWriter::kernel_for(Int words, Int numbers) const {
    auto fits = [&](const Capacity& one) {
        return words <= one.words && numbers <= one.numbers && one.room() <= setting_.room;
    };
    return fits(setting_.few) ? few_kernel : fits(setting_.many) ? many_kernel : memory_kernel;
}

// Returns a take over a sweep's packed numbers as one over the coefficient buffer.
Int LaunchWriter::in_buffer(Int take, const SweepRow& row) const {
    if (take >= 2 * row.count) return take - 2 * row.count + 2 * size_;
    return 2 * static_cast<Int>(numbers_.packed[static_cast<std::size_t>(row.packed + take / 2)]) + take % 2;
}

// Returns the takes of all numbers that sweeps read from the device's memory.
std::vector<Int> LaunchWriter::far() const {
    std::vector<Int> found;
    found.reserve(static_cast<std::size_t>(num_tables_));
    for (const SweepRow& row : sweeps_) {
        auto add = [&](const std::vector<Int>& takes, Int first, Int last) {
            for (Int k = first; k < last; ++k) found.push_back(in_buffer(takes[static_cast<std::size_t>(k)], row));
        };
        if (row.kernel == memory_kernel) add(programs_.shared, row.begin.shared, row.end.shared);
        add(programs_.tables, row.begin.tables, row.end.tables);
        found.resize(static_cast<std::size_t>(row.tables + padded(row.num_tables)), 2 * size_);  // with the number 0
    }
    return found;
}

// Lays out the making of a range of the tables' reals on the device: a word for each, and records of the factors of entries;
// see TableRecipe of qsim_ex.kernels.cuda.launch.tables. Where no kernel takes so many factors by value two launches make
// the range. Returns false if that is not enough.
bool LaunchWriter::lay_out_tables(const std::vector<Int>& every, std::size_t first_take, std::size_t last_take) {
    if (first_take == last_take) return true;
    std::span takes(every.begin() + static_cast<std::ptrdiff_t>(first_take),
                    every.begin() + static_cast<std::ptrdiff_t>(last_take));
    auto in_halves = [&] {
        std::size_t half = first_take + takes.size() / 2;
        return half > first_take && lay_out_tables(every, first_take, half) && lay_out_tables(every, half, last_take);
    };
    std::vector<Int> factors;
    const Int before = 2 * tables_at_, end = 2 * size_;
    std::vector<Int> direct;  // numbers that are no products; one that is taken twice is sent twice, which is rare
    for (Int take : takes) {
        if (take >= before) continue;
        if (static_cast<Int>(direct.size()) == setting_.limits[numbers_kernels - 1]) return in_halves();
        direct.push_back(take);
    }
    std::vector<Index> entry(static_cast<std::size_t>(size_ - tables_at_));
    for (Int take : takes)
        if (take >= before && take < end) entry[static_cast<std::size_t>(take / 2 - tables_at_)] = 1;
    std::vector<std::uint32_t> records;
    std::size_t number = 0;  // of an entry, counted from the first table
    for (const Instruction& fold : numbers_.program) {
        if (fold.type != Instruction::fold) continue;
        const Int words = (fold.factors + 63) / 64;
        for (Int table = 0; table < fold.count; ++table) {
            const auto first = static_cast<std::uint32_t>(factors.size() / 2);
            bool used = false;
            for (Int row = 0; row < fold.entries; ++row, ++number) {
                if (!entry[number]) continue;
                used = true;
                entry[number] = static_cast<Index>(takes.size() + records.size());
                records.push_back(first), records.push_back(static_cast<std::uint32_t>(fold.factors));
                const std::uint64_t* bits = numbers_.incidence.data() + fold.bits + (table * fold.entries + row) * words;
                for (Int k = 0; k < (fold.factors + 31) / 32; ++k)
                    records.push_back(static_cast<std::uint32_t>(bits[k / 2] >> k % 2 * 32));
            }
            const Index* known = numbers_.places.data() + fold.at + table * fold.factors;
            for (Int k = 0; used && k < fold.factors; ++k)
                factors.push_back(2 * static_cast<Int>(known[k])), factors.push_back(factors.back() + 1);
        }
    }
    std::uint32_t next_direct = static_cast<std::uint32_t>(factors.size());
    factors.insert(factors.end(), direct.begin(), direct.end());
    const Int most = static_cast<Int>(factors.size());
    int limit = 0;
    for (; limit < numbers_kernels; ++limit)
        if (most <= setting_.limits[limit] && 8 * setting_.limits[limit] + other_arguments <= setting_.room) break;
    if (limit == numbers_kernels) return in_halves();
    parts_.push_back({static_cast<Int>(first_take), static_cast<Int>(takes.size()), static_cast<Int>(out_.sent.size()),
                      static_cast<Int>(factors_.size()), most, limit});
    factors_.insert(factors_.end(), factors.begin(), factors.end());
    for (Int take : takes)
        out_.sent.push_back(take < before ? next_direct++ << 2
                            : take < end  ? entry[static_cast<std::size_t>(take / 2 - tables_at_)] << 2 |
                                                static_cast<Index>(1 + take % 2)
                                          : static_cast<Index>(take - end) << 2 | 3);
    out_.sent.insert(out_.sent.end(), records.begin(), records.end());
    return true;
}

// Writes the launches that make the tables; all take their input from the same place.
void LaunchWriter::make_tables() {
    for (const TablePart& part : parts_) {
        for (Int word : {Int{take_word}, static_cast<Int>(out_.places.size()), part.num_factors, factors_at_ / 8})
            out_.words.push_back(word);
        auto factors = factors_.begin() + part.factors;
        out_.places.insert(out_.places.end(), factors, factors + part.num_factors);
        out_.addresses.push_back(static_cast<Int>(out_.words.size()) + 6);
        launch(numbers_kernel + part.limit, blocks_for(part.count), threads_of,
               {plain, 4 * part.sent, in_tables, part.first * real_, plain, part.count, structure, factors_at_});
    }
}

// Writes how those entries of tables are made that kernels take by value: products of few factors.
void LaunchWriter::entries() {
    std::vector<char> wanted(static_cast<std::size_t>(size_ - tables_at_));
    for (const SweepRow& row : sweeps_)
        for (Int k = row.begin.shared; k < row.begin.shared + row.num_values; ++k)
            if (Int take = in_buffer(programs_.shared[static_cast<std::size_t>(k)], row);
                take >= 2 * tables_at_ && take < 2 * size_)
                wanted[static_cast<std::size_t>(take / 2 - tables_at_)] = 1;
    std::size_t number = 0;
    for (const Instruction& fold : numbers_.program) {
        if (fold.type != Instruction::fold) continue;
        const Int words = (fold.factors + 63) / 64;
        for (Int k = 0; k < fold.count * fold.entries; ++k, ++number) {
            if (!wanted[number]) continue;
            const std::uint64_t* bits = numbers_.incidence.data() + fold.bits + k * words;
            const Index* factors = numbers_.places.data() + fold.at + k / fold.entries * fold.factors;
            const Int at = static_cast<Int>(out_.places.size());
            for (Int word = 0; word < words; ++word)
                each(bits[word],
                     [&](int bit) { out_.places.push_back(static_cast<std::int32_t>(factors[64 * word + bit])); });
            for (Int value :
                 {Int{entry_word}, tables_at_ + static_cast<Int>(number), at, static_cast<Int>(out_.places.size()) - at})
                out_.words.push_back(value);
        }
    }
}

void LaunchWriter::launch(Int kernel, Int blocks, Int threads, std::initializer_list<Int> arguments) {
    out_.kernels.push_back(static_cast<Int>(out_.words.size()) + 1);
    for (Int word : {Int{launch_word}, kernel, blocks, threads, static_cast<Int>(arguments.size()) / 2})
        out_.words.push_back(word);
    out_.words.insert(out_.words.end(), arguments);
}

void LaunchWriter::sweep(const SweepRow& row) {
    const Int to = values_at_ + row.values * real_;
    if (row.num_values) {
        for (Int word : {real_ == 4 ? Int{take_single_word} : Int{take_word}, static_cast<Int>(out_.places.size()),
                         row.num_values, to / real_})
            out_.words.push_back(word);
        for (Int k = row.begin.shared; k < row.end.shared; ++k)
            out_.places.push_back(static_cast<std::int32_t>(in_buffer(programs_.shared[static_cast<std::size_t>(k)], row)));
    }
    const Int tiles = setting_.num_bits - row.end.skipped_bits;
    const Int kind = row.num_tables ? Int{in_tables} : Int{plain}, at = row.num_tables ? row.tables * real_ : 0;
    const std::uint32_t* program = programs_.words.data() + row.begin.words;
    if (row.kernel != memory_kernel) {
        launch(row.kernel, Int{1} << tiles, row.end.threads,
               {state, 0, kind, at, plain, 0, kept, reinterpret_cast<Int>(program), structure, to});
        return;
    }
    out_.addresses.push_back(static_cast<Int>(out_.words.size()) + 10);
    const Int begin = 4 * static_cast<Int>(out_.sent.size());
    out_.sent.insert(out_.sent.end(), program, programs_.words.data() + row.end.words);
    const Int lanes = lowest(static_cast<Mask>(row.end.threads));
    launch(memory_kernel, Int{1} << tiles, row.end.threads,
           {state, 0, kind, at, plain, begin, plain, 0, plain, 0, plain, Int{1} << tiles, plain, tiles, plain,
            setting_.num_bits, plain, lanes});
}

void LaunchWriter::zero_fill(Mask fresh) {
    const Int size = Int{1} << setting_.num_bits;
    launch(scale_kernel, blocks_for(size), threads_of,
           {state, 0, plain, size, plain, static_cast<Int>(fresh), plain, 0, plain, std::bit_cast<Int>(1.0), plain,
            std::bit_cast<Int>(0.0)});
}

}  // namespace qx::plan

namespace {

using namespace qx::plan;
using qx::Owned;

template <class... Values>
qx::Int* written(qx::Int* out, const std::vector<Values>&... values) {
    ((*out++ = reinterpret_cast<qx::Int>(values.data()), *out++ = static_cast<qx::Int>(values.size())), ...);
    return out;
}

}  // namespace

// Returns the programs of a finished plan's sweeps for GPUs; writes the address and the length of each of their arrays.
// real_bytes: of the numbers that kernels compute with. depth: the columns of a matrix whose numbers a warp loads at once.
// tensor: whether dense blocks run on the tensor cores. room: words of 4 bytes behind the last program that may be read.
QX_EXPORT(plan_programs, (qx::Int steps, qx::Int real_bytes, qx::Int depth, qx::Int tensor, qx::Int room, qx::Int* out)) {
    return Owned<SweepPrograms>::make([&] {
        const auto* plan = reinterpret_cast<const PlanSteps*>(steps);
        auto* made = new SweepPrograms;
        ProgramWriter writer(*plan->context, plan->steps, real_bytes, static_cast<int>(depth), tensor != 0, *made);
        for (const Step& step : plan->steps.steps)
            if (step.type == Step::sweep) writer.encode(step);
        made->words.resize(made->words.size() + static_cast<std::size_t>(room));
        written(out, made->words, made->shared, made->tables, made->ends);
        return made;
    });
}

QX_EXPORT(plan_free_programs, (qx::Int programs)) {
    Owned<SweepPrograms>::drop(programs);
    return 0;
}

// Returns the launches of programs; writes the address and the length of each of their arrays, and then three sizes. Returns
// 0 if they cannot be laid out. The planner has listed its numbers. setting: the integers of LaunchSetting.
QX_EXPORT(plan_launches, (qx::Int planner, qx::Int programs, const LaunchSetting* setting, qx::Int* out)) {
    return Owned<LaunchArrays>::make([&]() -> LaunchArrays* {
        auto made = std::make_unique<LaunchArrays>();
        const Planner& plan = Owned<Planner>::at(planner);
        if (!LaunchWriter(plan, Owned<SweepPrograms>::at(programs), *setting, *made).write()) return nullptr;
        out = written(out, made->words, made->places, made->sent, made->kernels, made->addresses);
        *out++ = made->room, *out++ = made->constants, *out++ = made->tables;
        return made.release();
    });
}

QX_EXPORT(plan_free_launches, (qx::Int launches)) {
    Owned<LaunchArrays>::drop(launches);
    return 0;
}
