// A sweep as arrays of integers: the program that the kernels of sweeps interpret.

#include "plan_writer.hpp"

#include <algorithm>

namespace qx::plan {

namespace {

constexpr std::size_t few_exchanges = 8;  // exchanges of half the rows that cost as much as one permutation of all
constexpr std::size_t low_rows = 6;       // tables over rows are split: one for these bits of the row number
constexpr std::size_t sweeps_at_once = 64;  // between two looks at the clock
constexpr std::size_t large = 1 << 14;          // items; what is reserved for them and not used takes no memory
constexpr Int line = 16;                  // coefficients begin on whole cache lines

Half narrow(Int number) { return static_cast<Half>(number); }

// Appends for each set of steps their sum, which is a place in memory, or `none` where a step is nowhere.
void append_sums(const std::vector<Int>& steps, Int none, std::vector<Int>& out) {
    std::size_t begin = out.size();
    out.push_back(0);
    for (Int step : steps)
        for (std::size_t k = begin, end = out.size(); k < end; ++k) out.push_back(step == nowhere ? none : std::min(out[k] + step, none));
}

// Exchanges of two places that, one after the other, move the content of x to to[x].
std::vector<std::pair<int, int>> transpositions(const Index* to, int size) {
    std::vector<std::pair<int, int>> swaps;
    Mask seen = 0;
    for (int start = 0; start < size; ++start)
        for (int x = start; !(seen >> x & 1);) {
            seen |= unit(x);
            x = static_cast<int>(to[x]);
            if (x != start) swaps.push_back({start, x});
        }
    return swaps;
}

}  // namespace

void EncodedSweeps::reserve(std::size_t items, std::size_t steps) {
    if (items < large) return;
    instructions.reserve(3 * items), fills.reserve(3 * items);
    integers.reserve(16 * items + 256 * steps);
}

void EncodedSweeps::finish() {
    SweepEnd begin{};
    for (std::size_t k = 0; k < ends.size(); ++k) {
        const SweepEnd& end = ends[k];
        programs.push_back({instructions.data() + begin.instructions, end.instructions - begin.instructions,
                            fills.data() + begin.fills, end.fills - begin.fills, codes.data(),
                            integers.data() + begin.integers, &geometry[k], end.coefficients});
        begin = end;
    }
}

std::size_t EncodedSweeps::bytes() const {
    auto of = [](const auto& values) { return values.size() * sizeof values[0]; };
    return of(instructions) + of(fills) + of(codes) + of(integers) + of(geometry) + of(ends) + of(programs);
}

bool Encoder::advance() {
    for (std::size_t k = 0; k < sweeps_at_once && at_ < steps_.steps.size(); ++k, ++at_)
        if (steps_.steps[at_].type == Step::sweep) writer_->encode(steps_.steps[at_]);
    if (at_ < steps_.steps.size()) return true;
    writer_.reset();
    sweeps_.finish();
    return false;
}

void Writer::encode(const Step& sweep) {
    first_integer_ = out_.integers.size();
    coefficients_ = 0;
    std::vector<TouchedBits> pending, ready;
    std::size_t end = static_cast<std::size_t>(steps_.phases[sweep.end - 1].end);
    for (std::size_t k = static_cast<std::size_t>(steps_.phases[sweep.begin].begin); k < end; ++k) {
        const Item& item = steps_.items[k];
        Mask mix = 0, all = when_mask(item);
        for (Int j = 0; j < item.num_bits; ++j) mix |= bits_of(item)[j];
        for (Int j = 0; j < item.num_reads; ++j) all |= reads_of(item)[j];
        pending.push_back({&item, mix, all | mix});
    }
    bool direct = layout_.first(static_cast<Mask>(sweep.tile), pending, lane_bits_);
    look();
    Geometry geometry{};
    Mask fresh = static_cast<Mask>(sweep.fresh);
    int to[64], home[64];  // where each bit is written back, and which bit is written there
    for (int bit = 0; bit < 64; ++bit) to[bit] = home[bit] = bit;
    places(fresh, to, geometry.load, geometry.load_lanes);
    geometry.load_direct = direct && !(fresh & layout_.lane_mask());
    while (!pending.empty()) {
        ready.clear();
        take_runnable(pending, layout_.lane_mask(), ready);
        Swaps swaps = pending.empty() ? Swaps() : layout_.swaps_for(pending);
        for (const TouchedBits& piece : ready) item(*piece.item);
        if (!swaps.empty()) exchange(swaps);
    }
    if (sweep.num_bits) {
        const Mask* stored = book_.words.data() + sweep.words;
        each(static_cast<Mask>(sweep.tile), [&](int bit) { to[bit] = lowest(*stored), home[lowest(*stored++)] = bit; });
    }
    if (direct && !layout_.rows.empty())
        for (const Swaps& swaps : layout_.swaps_home(home)) exchange(swaps);
    geometry.last = finish();
    places(0, to, geometry.store, geometry.store_lanes);
    geometry.grown = static_cast<Int>(fresh & static_cast<Mask>(sweep.tile));
    geometry.num_bits = num_bits_;
    geometry.load_base = geometry.store_base = -1;
    geometry.row_bits = static_cast<Int>(layout_.rows.size());
    geometry.tile_mask = static_cast<Int>(static_cast<Mask>(sweep.tile) | (fresh & below(num_bits_)));
    geometry.store_direct = direct && std::equal(layout_.lanes.begin(), layout_.lanes.end(), home);
    out_.geometry.push_back(geometry);
    auto size = [](const auto& values) { return static_cast<Int>(values.size()); };
    out_.ends.push_back(
        {size(out_.instructions), size(out_.fills), size(out_.integers), coefficients_});
}

// Notes the place of each index bit.
void Writer::look() {
    row_mask_ = lane_mask_ = 0, all_rows_ = 0;
    std::fill(row_of_, row_of_ + 64, -1);
    for (std::size_t k = 0; k < layout_.rows.size(); ++k)
        if (int bit = layout_.rows[k]; bit < pad) {
            row_of_[bit] = static_cast<int>(k);
            row_mask_ |= unit(bit);
            all_rows_ |= Int{1} << k;
        }
    for (std::size_t k = 0; k < layout_.lanes.size(); ++k)
        if (int bit = layout_.lanes[k]; bit < pad) lane_of_[bit] = static_cast<int>(k), lane_mask_ |= unit(bit);
    outside_ = ~(row_mask_ | lane_mask_);
}

// Appends integers; returns their start.
Int Writer::add(const std::vector<Int>& values) {
    Int at = static_cast<Int>(out_.integers.size() - first_integer_);
    out_.integers.insert(out_.integers.end(), values.begin(), values.end());
    return at;
}

// Writes the place of each row and each lane in memory (in amplitudes), and where the tables begin.
//
// fresh: index bits at whose 1 all amplitudes are zero, which memory need not hold. to: where each bit is in memory.
void Writer::places(Mask fresh, const int* to, Int& at, Int& lanes) {
    auto steps_of = [&](const std::vector<int>& bits) {
        std::vector<Int> steps;
        for (int bit : bits) steps.push_back(bit >= pad || fresh >> bit & 1 ? nowhere : Int{1} << to[bit]);
        return steps;
    };
    std::vector<Int> low = steps_of(layout_.rows), high, sums;
    if (low.size() > low_rows) high.assign(low.begin() + low_rows, low.end());
    low.resize(low_rows);
    append_sums(low, nowhere, sums);
    append_sums(high, 2 * nowhere, sums);
    at = add(sums);
    sums.clear();
    append_sums(steps_of(layout_.lanes), 4 * nowhere, sums);
    lanes = add(sums);
}

// Exchanges lane bits and row bits, all at once if these are all lanes.
void Writer::exchange(const Swaps& swaps) {
    flush();
    Int everywhere = (Int{1} << layout_.rows.size()) - 1, rows = 0;
    for (auto [lane, row] : swaps) rows |= Int{1} << row;
    if (!swaps.empty() && static_cast<int>(swaps.size()) == lane_bits_) {
        qx::Instruction& made = write(qx::Kind::LANES, {0, 0, everywhere & ~rows, 0});
        for (std::size_t k = 0; k < swaps.size(); ++k) made.offsets[k] = row_bytes_ << swaps[k].second;
    } else {
        for (auto [lane, row] : swaps) {
            qx::Instruction& made = write(qx::Kind::LANE, {0, 0, everywhere & ~(Int{1} << row), 0});
            made.size = lane, made.offsets[0] = row_bytes_ << row;
        }
    }
    layout_.exchange(swaps);
    look();
}

// Writes the remaining instructions; returns whether the last is a permutation that storing can apply.
bool Writer::finish() {
    if (moves_.empty()) return false;
    permute();
    return true;
}

void Writer::item(const Item& item) {
    if (item.kind == static_cast<Int>(Kind::rename)) {
        if (is_cx(item)) {
            moves_.push_back(&item);
            return;
        }
        flush();
        rename(item);
        return;
    }
    flush();
    Interned::Bytes pattern = book_.patterns[static_cast<Index>(item.pattern)];
    if (item.kind == static_cast<Int>(Kind::diagonal)) {
        Index& known = known_diagonals_[static_cast<std::uint64_t>(item.pattern)];
        if (known == Memo::none) {
            known = static_cast<Index>(diagonals_.size());
            diagonals_.push_back(diagonal_codes(pattern));
        }
        if (!diagonals_[known].codes.empty()) scale(item, diagonals_[known], false, 0);
        return;
    }
    Index& known = known_blocks_[static_cast<std::uint64_t>(item.pattern << 16 | item.num_bits << 8 | item.num_reads)];
    if (known == Memo::none) {
        known = static_cast<Index>(blocks_.size());
        blocks_.push_back(matrix_blocks(pattern, static_cast<int>(item.num_bits), static_cast<int>(item.num_reads)));
    }
    for (MatrixBlock& made : blocks_[known]) block(item, made);
}

qx::Instruction& Writer::write(qx::Kind kind, const RowSelection& where, CoefficientTable table) {
    out_.instructions.push_back({.outside_mask = where.outside_mask,
                                 .outside_value = where.outside_value,
                                 .table = table.at,
                                 .free = narrow(where.free),
                                 .fixed = narrow(where.fixed),
                                 .count = narrow(Int{1} << qx::plan::count(static_cast<Mask>(where.free))),
                                 .block = narrow(table.block),
                                 .reads = narrow(table.reads),
                                 .columns = narrow(table.columns),
                                 .size = 0,
                                 .offsets = {},
                                 .kind = kind,
                                 .per_lane = 0});
    return out_.instructions.back();
}

// The rows and tiles of an item; with `bits`, those where its bits have `value`.
RowSelection Writer::select(const Item& item, bool bits, int value) const {
    Int free = all_rows_, fixed = 0;
    for (int k = 0; bits && k < item.num_bits; ++k) {
        free &= ~(Int{1} << row_of(item, k));
        fixed |= static_cast<Int>(value >> k & 1) << row_of(item, k);
    }
    each(when_mask(item) & row_mask_, [&](int bit) {
        free &= ~(Int{1} << row_of_[bit]);
        fixed |= static_cast<Int>(when_value(item) >> bit & 1) << row_of_[bit];
    });
    return {static_cast<Int>(when_mask(item) & outside_), static_cast<Int>(when_value(item) & outside_), free, fixed};
}

// Appends the look-up of coefficients [2^reads, entries]; sets whether they are per lane.
//
// A parity of lane bits alone needs no block of its own: each lane takes its own entry.
// scalars: one scalar for each coefficient if lanes do not matter. slot: where the numbers of the codes begin.
CoefficientTable Writer::table(
    const Item& item, bool with_reads, CodeTable& given, Int slot, bool scalars, bool& per_lane) {
    std::vector<Int> lane_columns(static_cast<std::size_t>(lane_bits_));
    std::vector<Mask> kept;
    Int kept_mask = 0;
    per_lane = false;
    for (int k = 0; with_reads && k < item.num_reads; ++k) {
        Mask read = reads_of(item)[k];
        if (read & ~lane_mask_) kept.push_back(read), kept_mask |= Int{1} << k;
        each(read & lane_mask_, [&](int bit) {
            lane_columns[lane_of_[bit]] |= Int{1} << k;
            per_lane = true;
        });
    }
    Int entries = given.entries(), blocks = Int{1} << kept.size(), size = given.blocks() * entries;
    Int lane_mask = 0, lane_value = 0;
    each(when_mask(item) & lane_mask_, [&](int bit) {
        lane_mask |= Int{1} << lane_of_[bit];
        lane_value |= static_cast<Int>(when_value(item) >> bit & 1) << lane_of_[bit];
    });
    per_lane = per_lane || lane_mask;
    bool splat = scalars && !per_lane;
    if (given.at < 0) {
        given.at = static_cast<Int>(out_.codes.size());
        for (const Codes* codes : {&given.codes, &given.identity})
            for (Int code : *codes) out_.codes.push_back(static_cast<std::int32_t>(code));
    }
    out_.fills.push_back({.to = coefficients_,
                          .slot = slot,
                          .blocks = narrow(blocks),
                          .entries = narrow(entries),
                          .from = narrow(given.at),
                          .identity = narrow(given.at + size),
                          .lane_columns = narrow(add(lane_columns)),
                          .kept = narrow(kept_mask),
                          .splat = splat,
                          .lane_mask = static_cast<std::int16_t>(lane_mask),
                          .lane_value = static_cast<std::int16_t>(lane_value)});
    Int width = splat ? 1 : Int{1} << lane_bits_;
    CoefficientTable made{coefficients_, entries * width, static_cast<Int>(kept.size()), kept.empty() ? 0 : reads(kept)};
    coefficients_ += (blocks * entries * width + line - 1) / line * line;
    return made;
}

// Writes how parities select a block: for each row bit what it flips, then the masks outside the tile.
Int Writer::reads(const std::vector<Mask>& masks) {
    std::vector<Int> columns(layout_.rows.size());
    for (std::size_t k = 0; k < masks.size(); ++k)
        each(masks[k] & row_mask_, [&](int bit) { columns[row_of_[bit]] |= Int{1} << k; });
    for (Mask mask : masks) columns.push_back(static_cast<Int>(mask & outside_));
    return add(columns);
}

// Multiplies rows by a table of factors; with `bits`, those at which the item's bits have `value`.
void Writer::scale(const Item& item, CodeTable& codes, bool bits, int value) {
    bool per_lane;
    CoefficientTable made = table(item, true, codes, item.slot, true, per_lane);
    write(codes.entries() == 1 ? qx::Kind::SCALE_REAL : qx::Kind::SCALE_COMPLEX, select(item, bits, value), made).per_lane = per_lane;
}

// Appends one set of values that a matrix mixes among themselves.
void Writer::block(const Item& item, MatrixBlock& block) {
    int size = static_cast<int>(block.values.size());
    if (size == 1) {
        scale(item, block.table, true, block.values[0]);
        return;
    }
    std::vector<Int> rows;
    for (int value : block.values) rows.push_back(row_offset(item, value));
    bool per_lane;
    CoefficientTable made = table(item, true, block.table, item.slot, size > 4, per_lane);
    RowSelection where = select(item, true);
    if (size > 4) {
        Int at = add(rows);
        qx::Instruction& written = write(qx::Kind::DENSE, where, made);
        written.size = size, written.per_lane = per_lane;
        written.offsets[0] = at, written.offsets[1] = static_cast<Int>(layout_.rows.size());
    } else if (!block.planes.empty()) {
        Int half = row_bytes_ / 2;
        qx::Instruction& written = write(size == 2 ? qx::Kind::PAIR_REAL : qx::Kind::QUAD_REAL, where, made);
        for (int k = 0; k < size; ++k) {
            written.offsets[k] = rows[k] + half * block.planes[k];
            written.offsets[size + k] = rows[k] + half * (1 - block.planes[k]);
        }
    } else {
        qx::Instruction& written = write(size == 2 ? qx::Kind::PAIR_COMPLEX : qx::Kind::QUAD_COMPLEX, where, made);
        std::copy(rows.begin(), rows.end(), written.offsets);
    }
}

// The distance from the row with 0 on the item's bits to the row with `value`.
Int Writer::row_offset(const Item& item, int value) const {
    Int sum = 0;
    for (int k = 0; k < item.num_bits; ++k)
        if (value >> k & 1) sum += row_bytes_ << row_of(item, k);
    return sum;
}

// Tells whether a renaming adds one bit to another, on rows: a chain of them is one permutation of rows.
bool Writer::is_cx(const Item& item) const {
    const Index* to = book_.values.data() + item.to;
    bool flips = item.num_bits == 1 && to[0] == 1 && to[1] == 0;
    return flips && count(when_mask(item)) == 1 && !(when_mask(item) & lane_mask_);
}

// Writes the collected moves.
void Writer::flush() {
    if (moves_.size() > few_exchanges) {
        permute();
        return;
    }
    std::vector<const Item*> moves;
    moves.swap(moves_);
    for (const Item* item : moves) rename(*item);
}

// Writes the collected moves as one permutation: each new row bit is a parity of the old index.
void Writer::permute() {
    std::vector<Mask> masks;
    for (int bit : layout_.rows) masks.push_back(bit < pad ? unit(bit) : 0);
    Int flips = 0;
    for (const Item* item : moves_) {
        int target = row_of(*item, 0), row = row_of_[lowest(when_mask(*item))];
        masks[target] ^= row < 0 ? when_mask(*item) : masks[row];
        Int flip = (row < 0 ? 0 : flips >> row & 1) ^ (item->when_value == 0);
        flips ^= flip << target;
    }
    moves_.clear();
    Int columns = reads(masks);
    for (std::size_t k = 0; k < layout_.rows.size(); ++k)
        if (layout_.rows[k] >= pad)  // no index bit, so no parity: it is unchanged
            out_.integers[first_integer_ + static_cast<std::size_t>(columns) + k] = Int{1} << k;
    Int size = static_cast<Int>(masks.size());
    write(qx::Kind::PERMUTE, {0, 0, (Int{1} << size) - 1, flips}, {0, 0, size, columns}).offsets[0] = size;
}

// Appends a permutation of rows, as exchanges of two; in some lanes only, it is a matrix.
void Writer::rename(const Item& item) {
    Int half = row_bytes_ / 2;
    for (auto [a, b] : transpositions(book_.values.data() + item.to, 1 << item.num_bits)) {
        Int rows[] = {row_offset(item, a), row_offset(item, b)};
        RowSelection where = select(item, true);
        if (when_mask(item) & lane_mask_) {
            bool per_lane;
            CoefficientTable made = table(item, false, exchange_codes_, 0, false, per_lane);
            qx::Instruction& written = write(qx::Kind::PAIR_REAL, where, made);
            for (int k = 0; k < 2; ++k) written.offsets[k] = rows[k], written.offsets[2 + k] = rows[k] + half;
        } else {
            qx::Instruction& written = write(qx::Kind::EXCHANGE, where);
            std::copy(rows, rows + 2, written.offsets);
        }
    }
}

}  // namespace qx::plan
