// A sweep as arrays of integers: the program that the kernels of sweeps interpret.

#include "planner/encode/writer.hpp"

#include <algorithm>
#include <array>

#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

constexpr std::size_t index_bits = 63;    // the most bits of an index
constexpr std::size_t large = 1 << 14;          // items; what is reserved for them and not used takes no memory
constexpr Int line = 16;                  // coefficients begin on whole cache lines
constexpr auto any_numbers = [] {
    std::array<char, 1 << 2 * LinkedBlock::most> out{};
    out.fill(complex_);
    return out;
}();

Half narrow(Int number) { return static_cast<Half>(number); }

// Appends for each set of steps their sum, which is a place in memory, or `none` where a step is nowhere; `first` is the
// sum of no steps.
void append_sums(const std::vector<Int>& steps, Int none, std::vector<Int>& out, Int first = 0) {
    std::size_t begin = out.size();
    out.push_back(first);
    for (Int step : steps)
        for (std::size_t k = begin, end = out.size(); k < end; ++k)
            out.push_back(step == nowhere || out[k] == none ? none : out[k] ^ step);
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
    for (Int k = 0; k < thresholds.sweeps_at_once && at_ < steps_.steps.size(); ++k, ++at_)
        if (steps_.steps[at_].type == Step::sweep) writer_->encode(steps_.steps[at_]);
    if (at_ < steps_.steps.size()) return true;
    writer_.reset();
    sweeps_.finish();
    return false;
}

void Writer::encode(const Step& sweep) {
    first_integer_ = out_.integers.size();
    coefficients_ = 0;
    std::vector<TouchedBits> pending = touched(sweep), ready;
    bool direct = layout_.first(static_cast<Mask>(sweep.tile), pending, lane_bits_);
    frame_.begin(layout_.rows.size());
    frame_changed();
    look();
    Geometry geometry{};
    Mask fresh = static_cast<Mask>(sweep.fresh), tile = static_cast<Mask>(sweep.tile);
    int home[64];  // which bit is on each lane in memory
    const SweepMaps maps(context_, sweep);
    std::copy_n(maps.load, 64, load_), std::copy_n(maps.store, 64, store_);
    places(load_, fresh, geometry.load, geometry.load_lanes);
    geometry.load_base = bases(load_, tile);
    geometry.load_direct = direct && !(fresh & layout_.lane_mask()) && lanes_of(load_, tile, home) &&
                           std::equal(layout_.lanes.begin(), layout_.lanes.end(), home);
    while (!pending.empty()) {
        ready.clear();
        take_runnable(pending, layout_.lane_mask(), ready);
        Swaps swaps = pending.empty() ? Swaps() : layout_.swaps_for(pending);
        for (const TouchedBits& piece : ready) item(*piece.item);
        close_joined();
        if (!swaps.empty()) exchange(swaps);
    }
    bool in_lanes = direct && lanes_of(store_, tile, home);
    if (in_lanes && !layout_.rows.empty())
        for (const Swaps& swaps : layout_.swaps_home(home)) exchange(swaps);
    places(store_, 0, geometry.store, geometry.store_lanes);
    geometry.grown = static_cast<Int>(fresh & tile);
    geometry.num_bits = num_bits_;
    geometry.store_base = bases(store_, tile);
    geometry.row_bits = static_cast<Int>(layout_.rows.size());
    geometry.tile_mask = static_cast<Int>(tile | (fresh & below(num_bits_)));
    geometry.store_direct = in_lanes && std::equal(layout_.lanes.begin(), layout_.lanes.end(), home);
    out_.geometry.push_back(geometry);
    auto size = [](const auto& values) { return static_cast<Int>(values.size()); };
    out_.ends.push_back({size(out_.instructions), size(out_.fills), size(out_.integers), coefficients_});
}

// The items of all register blocks, in order.
std::vector<TouchedBits> Writer::touched(const Step& sweep) const {
    std::vector<TouchedBits> found;
    if (sweep.begin == sweep.end) return found;
    std::size_t end = static_cast<std::size_t>(steps_.register_blocks[sweep.end - 1].end);
    for (std::size_t k = static_cast<std::size_t>(steps_.register_blocks[sweep.begin].begin); k < end; ++k) {
        const Item& item = steps_.items[k];
        Mask mix = 0, all = when_mask(item);
        for (Int j = 0; j < item.num_bits; ++j) mix |= bits_of(item)[j];
        for (Int j = 0; j < item.num_reads; ++j) all |= reads_of(item)[j];
        found.push_back({&item, mix, all | mix});
    }
    return found;
}

// Notes the place of each index bit.
void Writer::look() {
    row_mask_ = lane_mask_ = 0, all_rows_ = 0;
    padded_ = false;
    std::fill(row_of_, row_of_ + 64, -1);
    for (std::size_t k = 0; k < layout_.rows.size(); ++k)
        if (int bit = layout_.rows[k]; bit < pad) {
            row_of_[bit] = static_cast<int>(k);
            row_mask_ |= unit(bit);
            all_rows_ |= Mask{1} << k;
        } else {
            padded_ = true;
        }
    for (std::size_t k = 0; k < layout_.lanes.size(); ++k)
        if (int bit = layout_.lanes[k]; bit < pad) lane_of_[bit] = static_cast<int>(k), lane_mask_ |= unit(bit);
        else padded_ = true;
    outside_ = ~(row_mask_ | lane_mask_);
}

// Appends integers; returns their start.
Int Writer::add(const std::vector<Int>& values) {
    Int at = static_cast<Int>(out_.integers.size() - first_integer_);
    out_.integers.insert(out_.integers.end(), values.begin(), values.end());
    return at;
}

// Finds the bits of a tile that are alone on the lanes of vectors in memory; returns whether each lane has one.
bool Writer::lanes_of(const Mask* columns, Mask tile, int* home) const {
    Mask lanes = below(lane_bits_), found = 0;
    bool alone = true;
    for (int bit = 0; bit < num_bits_; ++bit) {
        Mask on = columns[bit] & lanes;
        if (!(tile >> bit & 1)) {
            alone = alone && !((columns[bit] ^ unit(bit)) & lanes);
        } else if (on) {
            alone = alone && columns[bit] == on && !(on & (on - 1)) && !(found & on);
            found |= on, home[lowest(on)] = bit;
        }
    }
    return alone && found == lanes;
}

// Writes the place of each row and each lane in memory (in amplitudes), and where the tables begin.
//
// fresh: index bits at whose 1 all amplitudes are zero, which memory need not hold.
void Writer::places(const Mask* columns, Mask fresh, Int& at, Int& lanes) {
    auto steps_of = [&](const std::vector<int>& bits) {
        std::vector<Int> steps;
        for (int bit : bits) steps.push_back(bit >= pad || fresh >> bit & 1 ? nowhere : static_cast<Int>(columns[bit]));
        return steps;
    };
    std::vector<Int> steps = steps_of(layout_.rows), low(steps.size()), high, sums;
    Int flipped = 0;
    each(frame_.flips, [&](int position) { flipped ^= steps[static_cast<std::size_t>(position)]; });
    for (std::size_t k = 0; k < steps.size(); ++k)
        each(frame_.parities[k], [&](int bit) {
            Int& step = low[static_cast<std::size_t>(bit)];
            step = steps[k] == nowhere || step == nowhere ? nowhere : step ^ steps[k];
        });
    if (static_cast<Int>(low.size()) > low_rows) high.assign(low.begin() + low_rows, low.end());
    low.resize(low_rows);
    append_sums(low, nowhere, sums, flipped);
    append_sums(high, 2 * nowhere, sums);
    at = add(sums);
    sums.clear();
    append_sums(steps_of(layout_.lanes), 4 * nowhere, sums);
    lanes = add(sums);
}

// Writes what a map adds to each bit outside the tile, now that rows may depend on it; returns where, −1: nothing. Such a
// bit may be above those of the state.
Int Writer::bases(const Mask* columns, Mask tile) {
    std::vector<Int> added(index_bits);
    for (int bit = 0; bit < num_bits_; ++bit)
        if (!(tile >> bit & 1)) added[static_cast<std::size_t>(bit)] = static_cast<Int>(columns[bit] ^ unit(bit));
    for (std::size_t k = 0; k < layout_.rows.size(); ++k)
        each(frame_.outside[k],
             [&](int bit) { added[static_cast<std::size_t>(bit)] ^= static_cast<Int>(columns[layout_.rows[k]]); });
    return std::any_of(added.begin(), added.end(), [](Int mask) { return mask != 0; }) ? add(added) : -1;
}

// Exchanges lane bits and row bits, all at once if these are all lanes.
void Writer::exchange(const Swaps& swaps) {
    Mask everywhere = (Mask{1} << layout_.rows.size()) - 1, with = 0;
    for (auto [lane, row] : swaps) with |= unit(row);
    qx::Instruction& made = write(qx::Kind::LANES, rows(everywhere & ~with));
    for (auto [lane, row] : swaps) {
        made.size |= narrow(Int{1} << lane);
        made.offsets[lane] = narrow(offset(unit(row)));
    }
    layout_.exchange(swaps);
    look();
}

void Writer::item(const Item& item) {
    if (item.kind == static_cast<Int>(Kind::permute)) {
        if (is_cx(item)) cx(item);
        else exchange(item, context_.values.data() + item.to);
        return;
    }
    Interned::Bytes pattern = context_.patterns[static_cast<Index>(item.pattern)];
    if (item.kind == static_cast<Int>(Kind::diagonal)) {
        Index& known = known_diagonals_[static_cast<std::uint64_t>(item.pattern)];
        if (known == Memo::none) {
            known = static_cast<Index>(diagonals_.size());
            diagonals_.push_back(diagonal_codes(pattern));
        }
        if (!diagonals_[known].codes.empty()) scale(item, diagonals_[known], false, 0);
        return;
    }
    const bool any = links_.has(number_of(item));
    if (any) pattern = {any_numbers.data(), std::size_t{1} << 2 * item.num_bits};
    Index& known = any ? known_any_[static_cast<std::uint64_t>(item.num_bits)]
                       : known_blocks_[static_cast<std::uint64_t>(item.pattern << 16 | item.num_bits << 8 | item.num_reads)];
    if (known == Memo::none) {
        known = static_cast<Index>(blocks_.size());
        blocks_.push_back(cut(pattern, static_cast<int>(item.num_bits), static_cast<int>(item.num_reads)));
    }
    std::vector<MatrixBlock>& made = blocks_[known].blocks;
    for (MatrixBlock& each : made) block(item, each);
    if (!blocks_[known].to.empty()) exchange(item, blocks_[known].to.data());
    const bool of_all = item.num_bits == 2 && !item.num_reads && !item.when_mask;
    if (of_all && made.size() == 2 && made[0].values.size() == 2 && made[1].values.size() == 2)
        out_.instructions[out_.instructions.size() - 2].size = halves;
}

qx::Instruction& Writer::write(qx::Kind kind, const RowSelection& where, CoefficientTable table) {
    out_.instructions.push_back({.outside_mask = where.outside_mask,
                                 .outside_value = where.outside_value,
                                 .table = table.at,
                                 .free = narrow(where.free),
                                 .steps = narrow(where.steps),
                                 .fixed = narrow(where.fixed),
                                 .origin = narrow(where.origin),
                                 .count = narrow(where.count),
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
RowSelection Writer::select(const Item& item, bool bits, int value) {
    Mask free = all_rows_, fixed = 0;
    for (int k = 0; bits && k < item.num_bits; ++k) {
        free &= ~unit(row_of(item, k));
        fixed |= static_cast<Mask>(value >> k & 1) << row_of(item, k);
    }
    each(when_mask(item) & row_mask_, [&](int bit) {
        free &= ~unit(row_of_[bit]);
        fixed |= (when_value(item) >> bit & 1) << row_of_[bit];
    });
    return rows(free, fixed, when_mask(item) & outside_, when_value(item) & outside_);
}

// The rows with some positions free, and the tiles in which index bits outside them have a value.
RowSelection Writer::rows(Mask free, Mask fixed, Mask outside_mask, Mask outside_value) {
    RowSelection made{static_cast<Int>(outside_mask),
                      static_cast<Int>(outside_value),
                      row_bytes_ * static_cast<Int>(free),
                      -1,
                      row_bytes_ * static_cast<Int>(frame_.row(fixed)),
                      -1,
                      Int{1} << qx::plan::count(free)};
    if (!frame_.moved) return made;
    made.steps = steps(free);
    if (origin_ < 0) {
        std::vector<Int> integers;
        frame_.origin(integers);
        if (!integers.empty()) origin_ = add(integers);
    }
    made.origin = origin_;
    return made;
}

// Returns where the steps stand by which rows are counted up whose positions are free.
Int Writer::steps(Mask free) {
    for (auto [known, at] : steps_at_)
        if (known == free) return at;
    std::vector<Int> integers;
    integers.reserve(static_cast<std::size_t>(count(free)));
    frame_.steps(free, row_bytes_, integers);
    steps_at_.push_back({free, add(integers)});
    return steps_at_.back().second;
}

// Begins steps and an origin for another frame.
void Writer::frame_changed() {
    steps_at_.clear();
    origin_ = -1;
}

// Appends the look-up of coefficients [2^reads, entries]; sets whether they are per lane.
//
// A parity of lane bits alone needs no block of its own: each lane takes its own entry.
// scalars: one scalar for each coefficient if lanes do not matter. slot: where the numbers of the codes begin.
CoefficientTable Writer::table(const Item& item, bool with_reads, CodeTable& given, Int slot, bool scalars, bool& per_lane) {
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

// Writes how parities select a block: for each bit of a row's number what it flips, then the masks outside the tile, then
// what is always flipped.
Int Writer::reads(const std::vector<Mask>& masks) {
    std::vector<Int> columns(layout_.rows.size());
    Int flips = 0;
    for (std::size_t k = 0; k < masks.size(); ++k) {
        Mask outside = masks[k] & outside_, inside = 0;
        each(masks[k] & row_mask_, [&](int bit) {
            std::size_t position = static_cast<std::size_t>(row_of_[bit]);
            inside ^= frame_.parities[position], outside ^= frame_.outside[position];
            flips ^= static_cast<Int>(frame_.flips >> position & 1) << k;
        });
        each(inside, [&](int bit) { columns[static_cast<std::size_t>(bit)] |= Int{1} << k; });
        columns.push_back(static_cast<Int>(outside));
    }
    columns.push_back(flips);
    return add(columns);
}

// Multiplies rows by a table of factors; with `bits`, those at which the item's bits have `value`.
void Writer::scale(const Item& item, CodeTable& codes, bool bits, int value) {
    bool per_lane;
    CoefficientTable made = table(item, true, codes, item.slot, true, per_lane);
    write(codes.entries() == 1 ? qx::Kind::SCALE_REAL : qx::Kind::SCALE_COMPLEX, select(item, bits, value), made).per_lane =
        per_lane;
}

// Appends one set of values that a matrix mixes among themselves.
void Writer::block(const Item& item, MatrixBlock& block) {
    int size = static_cast<int>(block.values.size());
    if (size == 1) {
        scale(item, block.table, true, block.values[0]);
        return;
    }
    std::vector<Int> offsets;
    for (int value : block.values) offsets.push_back(row_offset(item, value));
    bool per_lane;
    CoefficientTable made = table(item, true, block.table, item.slot, size > 4, per_lane);
    RowSelection where = select(item, true);
    if (size > 4) {
        Int at = add(offsets);
        qx::Instruction& written = write(qx::Kind::DENSE, where, made);
        written.size = size, written.per_lane = per_lane;
        written.offsets[0] = at, written.offsets[1] = links_.may_be_turned(number_of(item));
    } else if (!block.planes.empty()) {
        Int half = row_bytes_ / 2;
        qx::Instruction& written = write(size == 2 ? qx::Kind::PAIR_REAL : qx::Kind::QUAD_REAL, where, made);
        for (int k = 0; k < size; ++k) {
            written.offsets[k] = offsets[k] + half * block.planes[k];
            written.offsets[size + k] = offsets[k] + half * (1 - block.planes[k]);
        }
    } else {
        qx::Instruction& written = write(size == 2 ? qx::Kind::PAIR_COMPLEX : qx::Kind::QUAD_COMPLEX, where, made);
        std::copy(offsets.begin(), offsets.end(), written.offsets);
        if (size == 4 && links_.may_be_turned(number_of(item))) written.size = 1;
    }
    const bool plain = offsets[0] == 0 && (block.planes.empty() || block.planes[0] == 0);
    if (size == 2 && plain && item.num_bits == 1 && !item.num_reads && !item.when_mask) join(item);
}

// Joins the last instruction, a matrix on a row bit of all rows, with those before it, if it can be.
void Writer::join(const Item& item) {
    const std::vector<qx::Instruction>& all = out_.instructions;
    const std::size_t here = all.size() - 1;
    if (here != joined_first_ + joined_.size() || all[here].kind != all[joined_first_].kind) {
        close_joined();
        joined_first_ = here;
    }
    const Mask free = all_rows_ & ~unit(row_of(item, 0));
    if (std::find(joined_.begin(), joined_.end(), free) != joined_.end()) {  // the same bit again
        close_joined();
        joined_first_ = here;
    }
    joined_.push_back(free);
}

// Says which of the instructions that can be are joined: as many at a time as there are registers for, and rather twice two
// than three and one.
void Writer::close_joined() {
    const std::size_t all = joined_.size(), most = row_bytes_ == 128 ? static_cast<std::size_t>(most_joined) : 2;
    for (std::size_t done = 0, count; done < all; done += count) {
        count = std::min(all - done, most);
        if (count == 3 && all - done == 4) count = 2;
        Mask free = ~Mask{0};
        for (std::size_t k = done; k < done + count; ++k) free &= joined_[k];
        qx::Instruction& first = out_.instructions[joined_first_ + done];
        first.size = narrow(static_cast<Int>(count));
        first.columns = narrow(frame_.moved ? steps(free) : -1);
    }
    joined_.clear();
}

// The distance from the row with 0 on the item's bits to the row with `value`.
Int Writer::row_offset(const Item& item, int value) const {
    Mask positions = 0;
    for (int k = 0; k < item.num_bits; ++k)
        if (value >> k & 1) positions |= unit(row_of(item, k));
    return offset(positions);
}

// Tells whether a permutation adds one bit to another, and moves whole rows: then none has to be moved. Where there is
// padding, it has to, since what a row is there for has to show in its number.
bool Writer::is_cx(const Item& item) const {
    const Index* to = context_.values.data() + item.to;
    bool flips = item.num_bits == 1 && to[0] == 1 && to[1] == 0;
    return flips && count(when_mask(item)) == 1 && !(when_mask(item) & lane_mask_) && !padded_;
}

// Lets the frame follow a CX.
void Writer::cx(const Item& item) {
    close_joined();
    int control = lowest(when_mask(item)), target = row_of(item, 0);
    bool value = when_value(item) != 0;
    if (row_of_[control] >= 0) frame_.cx(row_of_[control], target, value);
    else frame_.cx_outside(control, target, value);
    frame_changed();
}

// Appends a permutation of rows, as exchanges of two; in some lanes only, it is a matrix.
void Writer::exchange(const Item& item, const Index* to) {
    Int half = row_bytes_ / 2;
    for (auto [a, b] : transpositions(to, 1 << item.num_bits)) {
        Int offsets[] = {row_offset(item, a), row_offset(item, b)};
        RowSelection where = select(item, true);
        if (when_mask(item) & lane_mask_) {
            bool per_lane;
            CoefficientTable made = table(item, false, exchange_codes_, 0, false, per_lane);
            qx::Instruction& written = write(qx::Kind::PAIR_REAL, where, made);
            for (int k = 0; k < 2; ++k) written.offsets[k] = offsets[k], written.offsets[2 + k] = offsets[k] + half;
        } else {
            qx::Instruction& written = write(qx::Kind::EXCHANGE, where);
            std::copy(offsets, offsets + 2, written.offsets);
        }
    }
}

}  // namespace qx::plan
