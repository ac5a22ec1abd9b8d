// A run on a GPU as one list of launches: takes of numbers, tables, and a kernel or the interpreter for each sweep.

#include "planner/encode/launches/launches.hpp"

#include <bit>
#include <memory>
#include <span>

namespace qx::plan {

namespace {

constexpr Int aligned = 64;      // the numbers of each sweep begin at a multiple of this many reals
constexpr Int threads_of = 256;  // fixed kernels
constexpr Int most_blocks = Int{1} << 20;

std::span<const Int> takes_at(const Int* first, Int count) { return {first, static_cast<std::size_t>(count)}; }
constexpr Int padded(Int count) { return (count + aligned - 1) / aligned * aligned; }
constexpr Int blocks_for(Int size) { return std::max(Int{1}, std::min(most_blocks, (size + threads_of - 1) / threads_of)); }

}  // namespace

LaunchWriter::LaunchWriter(const Planner& plan, const SweepPrograms& programs, const SweepKernel* kernels,
                           const LaunchSetting& setting, LaunchArrays& out)
    : plan_(plan), numbers_(plan, kernels != nullptr), num_operands_(plan.program().num_operands()), programs_(programs),
      kernels_(kernels), setting_(setting), out_(out), real_(setting.real_bytes), size_(numbers_.size()),
      tables_(numbers_, setting, out.sent) {}

bool LaunchWriter::write() {
    if (size_ > (Int{1} << 29) || !look()) return false;  // places are integers of 32 bits
    if (!tables_.lay_out(far(), starts())) return false;
    lay_out_room();
    out_.add(slots_ / 8, operands_word, num_operands_);
    const std::vector<Stage> all = stages();
    std::vector<TableEntry> made = entries();
    if (kernels_) {
        NumberSchedule numbers = schedule(all, std::move(made));
        for (std::size_t k = 0; k < all.size(); ++k) numbers.before(static_cast<Int>(k)), launch(all[k]);
    } else {
        at_once(made);
        for (const Stage& stage : all) launch(stage);
    }
    out_.words.insert(out_.words.end(), longest_word, end_word);
    out_.places.push_back(0);  // an empty array has no address
    return true;
}

void LaunchWriter::lay_out_room() {
    out_.constants = 2 * size_, out_.tables = num_tables_;
    factors_at_ = 16 * size_ + 32;
    Int most = 0;
    for (const TablePart& part : tables_.parts()) most = std::max(most, setting_.limits[part.limit]);
    aside_ = factors_at_ + 8 * most;
    values_at_ = aside_ + (kernels_ ? 0 : (plan_.program().room() + 7) / 8 * 8);
    Int beyond = std::max(setting_.few.numbers, setting_.many.numbers);  // what the last struct may be longer
    slots_ = values_at_ + (num_values_ * real_ + beyond + 7) / 8 * 8;
    out_.room = slots_ + 8 * 2 * most_arguments;
}

// Lays out the numbers of each sweep.
bool LaunchWriter::look() {
    Int packed = 0;
    std::size_t sweep = 0;
    for (std::size_t k = 0; k < plan_.steps.steps.size(); ++k) {
        const Step& step = plan_.steps.steps[k];
        const std::size_t number = sweep;
        sweep += step.type == Step::sweep;
        if (step.type == Step::sweep) {
            const SweepKernel* own = kernels_ && kernels_[number].handle ? kernels_ + number : nullptr;
            SweepRow row{};
            if (own)
                row = {own,
                       {},
                       {},
                       own->threads,
                       own->skipped_bits,
                       0,
                       0,
                       takes_at(own->values, own->num_values),
                       {{}, takes_at(own->tables, own->num_tables)},
                       0,
                       0,
                       0};
            else row = interpreted(number);
            row.packed = packed, row.count = step.packed - packed;
            row.values = num_values_, row.tables = num_tables_;
            row.num_tables = static_cast<Int>(row.far[0].size() + row.far[1].size());
            num_values_ += padded(static_cast<Int>(row.by_value.size())), num_tables_ += padded(row.num_tables);
            sweeps_.push_back(row);
        } else if (step.type != Step::zero_fill) {
            return false;
        }
        packed = step.packed;
    }
    return true;
}

// Returns a sweep that runs by its program: all its numbers are in memory if a kernel does not take them by value.
LaunchWriter::SweepRow LaunchWriter::interpreted(std::size_t number) const {
    const ProgramEnd end = programs_.ends[number], begin = number ? programs_.ends[number - 1] : ProgramEnd{};
    auto part = [](const auto& all, Int first, Int last) {
        return std::span(all).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    };
    auto words = part(programs_.words, begin.words, end.words);
    auto shared = part(programs_.shared, begin.shared, end.shared);
    auto tables = part(programs_.tables, begin.tables, end.tables);
    const RunKernel kernel = kernel_for(end.words - begin.words, (end.shared - begin.shared) * real_);
    const std::span<const Int> none, by_value = kernel == memory_kernel ? none : shared;
    const std::span<const Int> from_memory = kernel == memory_kernel ? shared : none;
    return {nullptr, kernel, words, end.threads, end.skipped_bits, 0, 0, by_value, {from_memory, tables}, 0, 0, 0};
}

// Returns all launches in order; tables are made right before the first sweep that reads them.
std::vector<LaunchWriter::Stage> LaunchWriter::stages() const {
    std::vector<Stage> found{{Stage::begin, 0}};
    std::size_t part = 0, number = 0;
    const std::vector<TablePart>& parts = tables_.parts();
    for (std::size_t k = 0; k < plan_.steps.steps.size(); ++k) {
        if (plan_.steps.steps[k].type == Step::zero_fill) {
            found.push_back({Stage::zero_fill, k});
            continue;
        }
        const SweepRow& row = sweeps_[number];
        for (; part < parts.size() && parts[part].first < row.tables + row.num_tables; ++part)
            found.push_back({Stage::table, part});
        found.push_back({Stage::sweep, number++});
    }
    return found;
}

// Returns what a launch takes from the room, as takes over the coefficient buffer.
std::vector<Int> LaunchWriter::takes(const Stage& stage) const {
    std::vector<Int> found;
    if (stage.kind == Stage::table) {
        const std::span<const Int> factors = tables_.factors(stage.number);
        found.assign(factors.begin(), factors.end());
    } else if (stage.kind == Stage::sweep) {
        const SweepRow& row = sweeps_[stage.number];
        found.reserve(row.by_value.size());
        for (Int take : row.by_value) found.push_back(in_buffer(take, row));
    }
    return found;
}

NumberSchedule LaunchWriter::schedule(const std::vector<Stage>& stages, std::vector<TableEntry> entries) {
    const auto launches = static_cast<Int>(stages.size());
    std::vector<Int> first(static_cast<std::size_t>(size_) + 2, launches);  // 0, 1 and -1 stand behind all numbers
    for (Int k = launches; k-- > 0;)
        for (Int take : takes(stages[static_cast<std::size_t>(k)])) first[static_cast<std::size_t>(take / 2)] = k;
    return {plan_.listed(), num_operands_, std::move(first), launches, std::move(entries), out_};
}

// Writes that all numbers are computed, if they are not there yet, and then some entries of tables.
void LaunchWriter::at_once(const std::vector<TableEntry>& entries) {
    if (plan_.program().untabled()) out_.add(numbers_word, reinterpret_cast<Int>(&plan_), aside_ / 8);
    for (const TableEntry& entry : entries) out_.add(entry_word, entry.place, entry.factors, entry.count);
}

void LaunchWriter::launch(const Stage& stage) {
    switch (stage.kind) {
        case Stage::begin: launch(begin_kernel, 1, 1, {state_argument, 0, plain_argument, 0}); break;
        case Stage::table: table(stage); break;
        case Stage::sweep: sweep(stage); break;
        case Stage::zero_fill: zero_fill(static_cast<Mask>(plan_.steps.steps[stage.number].fresh)); break;
    }
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
    return 2 * numbers_.packed(row.packed + take / 2) + take % 2;
}

// Returns the takes of all numbers that sweeps read from the device's memory.
std::vector<Int> LaunchWriter::far() const {
    std::vector<Int> found;
    found.reserve(static_cast<std::size_t>(num_tables_));
    for (const SweepRow& row : sweeps_) {
        for (const std::span<const Int>& part : row.far)
            for (Int take : part) found.push_back(in_buffer(take, row));
        found.resize(static_cast<std::size_t>(row.tables + padded(row.num_tables)), 2 * size_);  // with the number 0
    }
    return found;
}

// Returns where the tables' reals begin of each sweep.
std::vector<Int> LaunchWriter::starts() const {
    std::vector<Int> found;
    for (const SweepRow& row : sweeps_) found.push_back(row.tables);
    return found;
}

// Returns those entries of tables that kernels take by value, products of few factors, which are added to the places.
std::vector<TableEntry> LaunchWriter::entries() {
    std::vector<char> wanted(static_cast<std::size_t>(numbers_.num_entries()));
    for (const SweepRow& row : sweeps_)
        for (Int by_value : row.by_value)
            if (Int take = in_buffer(by_value, row); take < 2 * size_ && numbers_.is_entry(take / 2))
                wanted[numbers_.entry(take / 2)] = 1;
    std::vector<TableEntry> found;
    std::size_t number = 0;
    for (const RunNumbers::Table& table : numbers_.tables()) {
        const std::uint64_t* bits = table.incidence;
        for (Int row = 0; row < table.entries; ++row, ++number, bits += table.words()) {
            if (!wanted[number]) continue;
            const Int at = out_.next_place();
            for (Int word = 0; word < table.words(); ++word)
                each(bits[word],
                     [&](int bit) { out_.places.push_back(static_cast<std::int32_t>(table.of[64 * word + bit])); });
            found.push_back({table.at + row, at, out_.next_place() - at});
        }
    }
    return found;
}

// Writes that a launch's numbers are taken, in one of two ways, to a byte of the room; returns where their places begin.
Int LaunchWriter::take(const Stage& stage, Word kind, Int to) {
    const std::vector<Int> taken = takes(stage);
    const Int at = out_.next_place();
    if (taken.empty()) return at;
    out_.add(kind, at, taken.size(), to / (kind == take_single_word ? 4 : 8));
    for (Int one : taken) out_.places.push_back(static_cast<std::int32_t>(one));
    return at;
}

void LaunchWriter::launch(Int kernel, Int blocks, Int threads, std::initializer_list<Int> arguments) {
    out_.kernels.push_back(static_cast<Int>(out_.words.size()) + 1);
    out_.add(launch_word, kernel, blocks, threads, arguments.size() / 2);
    out_.words.insert(out_.words.end(), arguments);
}

// Writes the launch that makes a part of the tables; all take their input from the same place.
void LaunchWriter::table(const Stage& stage) {
    const TablePart& part = tables_.parts()[stage.number];
    take(stage, take_word, factors_at_);
    out_.addresses.push_back(static_cast<Int>(out_.words.size()) + 6);
    launch(numbers_kernel + part.limit, blocks_for(part.count), threads_of,
           {plain_argument, 4 * part.sent, tables_argument, part.first * real_, plain_argument, part.count, struct_argument,
            factors_at_});
}

void LaunchWriter::sweep(const Stage& stage) {
    const SweepRow& row = sweeps_[stage.number];
    const Int to = values_at_ + row.values * real_;
    const Int taken = take(stage, real_ == 4 ? take_single_word : take_word, to);
    const Int tiles = setting_.num_bits - row.skipped_bits;
    const Int kind = row.num_tables ? Int{tables_argument} : Int{plain_argument},
              at = row.num_tables ? row.tables * real_ : 0;
    if (row.own) {
        if (row.own->num_pivots) {
            out_.add(pivots_word, taken, out_.next_place(), row.own->num_pivots, to / real_, real_);
            out_.places.insert(out_.places.end(), row.own->pivots, row.own->pivots + row.own->num_pivots);
        }
        launch(row.own->handle, Int{1} << tiles, row.threads,
               {state_argument, 0, kind, at, plain_argument, 0, struct_argument, to});
        out_.kernels.pop_back();  // its handle is known
        return;
    }
    if (row.kernel != memory_kernel) {
        launch(row.kernel, Int{1} << tiles, row.threads,
               {state_argument, 0, kind, at, plain_argument, 0, kept_argument, reinterpret_cast<Int>(row.program.data()),
                struct_argument, to});
        return;
    }
    out_.addresses.push_back(static_cast<Int>(out_.words.size()) + 10);
    const Int begin = 4 * static_cast<Int>(out_.sent.size());
    out_.sent.insert(out_.sent.end(), row.program.begin(), row.program.end());
    const Int lanes = lowest(static_cast<Mask>(row.threads));
    launch(memory_kernel, Int{1} << tiles, row.threads,
           {state_argument, 0, kind, at, plain_argument, begin, plain_argument, 0, plain_argument, 0, plain_argument,
            Int{1} << tiles, plain_argument, tiles, plain_argument, setting_.num_bits, plain_argument, lanes});
}

void LaunchWriter::zero_fill(Mask fresh) {
    const Int size = Int{1} << setting_.num_bits;
    launch(scale_kernel, blocks_for(size), threads_of,
           {state_argument, 0, plain_argument, size, plain_argument, static_cast<Int>(fresh), plain_argument, 0,
            plain_argument, std::bit_cast<Int>(1.0), plain_argument, std::bit_cast<Int>(0.0)});
}

}  // namespace qx::plan
