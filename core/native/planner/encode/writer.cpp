// A sweep as arrays of integers: the program that the kernels of sweeps interpret.

#include "planner/encode/writer.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace qx::plan {

namespace {

constexpr Int line = 16;  // coefficients begin on whole cache lines
constexpr auto any_numbers = [] {
    std::array<char, 1 << 2 * LinkedBlock::most> out{};
    out.fill(complex_);
    return out;
}();

Half narrow(Int number) { return static_cast<Half>(number); }

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

void Writer::encode(const Step& sweep) {
    coefficients_ = 0;
    const Mask fresh = static_cast<Mask>(sweep.fresh), tile = static_cast<Mask>(sweep.tile);
    std::vector<TouchedBits> pending = touched(sweep), ready;
    const bool direct = rows_.begin(tile, pending);
    const TileLayout& layout = rows_.layout();
    Geometry geometry{};
    int home[64];  // which bit is on each lane in memory
    const SweepMaps maps(context_, sweep);
    std::tie(geometry.load, geometry.load_lanes) = rows_.places(maps.load, fresh);
    geometry.load_base = rows_.bases(maps.load, tile);
    geometry.load_direct = direct && !(fresh & layout.lane_mask()) && rows_.lanes_of(maps.load, tile, home) &&
                           std::equal(layout.lanes.begin(), layout.lanes.end(), home);
    while (!pending.empty()) {
        ready.clear();
        take_runnable(pending, layout.lane_mask(), ready);
        Swaps swaps = pending.empty() ? Swaps() : layout.swaps_for(pending);
        for (const TouchedBits& piece : ready) item(*piece.item);
        joined_.close();
        if (!swaps.empty()) exchange(swaps);
    }
    const bool in_lanes = direct && rows_.lanes_of(maps.store, tile, home);
    if (in_lanes && !layout.rows.empty())
        for (const Swaps& swaps : layout.swaps_home(home)) exchange(swaps);
    std::tie(geometry.store, geometry.store_lanes) = rows_.places(maps.store, 0);
    geometry.grown = static_cast<Int>(fresh & tile);
    geometry.num_bits = num_bits_;
    geometry.store_base = rows_.bases(maps.store, tile);
    geometry.row_bits = static_cast<Int>(layout.rows.size());
    geometry.tile_mask = static_cast<Int>(tile | (fresh & below(num_bits_)));
    geometry.store_direct = in_lanes && std::equal(layout.lanes.begin(), layout.lanes.end(), home);
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

// Exchanges lane bits and row bits, all at once if these are all lanes.
void Writer::exchange(const Swaps& swaps) {
    Mask everywhere = (Mask{1} << rows_.layout().rows.size()) - 1, with = 0;
    for (auto [lane, row] : swaps) with |= unit(row);
    qx::Instruction& made = write(qx::Kind::LANES, rows_.select({}, everywhere & ~with));
    for (auto [lane, row] : swaps) {
        made.size |= narrow(Int{1} << lane);
        made.offsets[lane] = narrow(rows_.offset(unit(row)));
    }
    rows_.exchange(swaps);
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
    Mask free = rows_.all(), fixed = 0;
    for (int k = 0; bits && k < item.num_bits; ++k) {
        free &= ~unit(row_of(item, k));
        fixed |= static_cast<Mask>(value >> k & 1) << row_of(item, k);
    }
    return rows_.select({when_mask(item), when_value(item)}, free, fixed);
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
        if (read & ~rows_.lane_mask()) kept.push_back(read), kept_mask |= Int{1} << k;
        each(read & rows_.lane_mask(), [&](int bit) {
            lane_columns[rows_.lane(bit)] |= Int{1} << k;
            per_lane = true;
        });
    }
    Int entries = given.entries(), blocks = Int{1} << kept.size(), size = given.blocks() * entries;
    Int lane_mask = 0, lane_value = 0;
    each(when_mask(item) & rows_.lane_mask(), [&](int bit) {
        lane_mask |= Int{1} << rows_.lane(bit);
        lane_value |= static_cast<Int>(when_value(item) >> bit & 1) << rows_.lane(bit);
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
                          .lane_columns = narrow(rows_.add(lane_columns)),
                          .kept = narrow(kept_mask),
                          .splat = splat,
                          .lane_mask = static_cast<std::int16_t>(lane_mask),
                          .lane_value = static_cast<std::int16_t>(lane_value)});
    Int width = splat ? 1 : Int{1} << lane_bits_;
    CoefficientTable made{coefficients_, entries * width, static_cast<Int>(kept.size()),
                          kept.empty() ? 0 : rows_.reads(kept)};
    coefficients_ += (blocks * entries * width + line - 1) / line * line;
    return made;
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
        Int at = rows_.add(offsets);
        qx::Instruction& written = write(qx::Kind::DENSE, where, made);
        written.size = size, written.per_lane = per_lane;
        written.offsets[0] = at, written.offsets[1] = links_.may_be_turned(number_of(item));
    } else if (!block.planes.empty()) {
        Int half = rows_.bytes() / 2;
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
    if (size == 2 && plain && item.num_bits == 1 && !item.num_reads && !item.when_mask) joined_.add(row_of(item, 0));
}

// The distance from the row with 0 on the item's bits to the row with `value`.
Int Writer::row_offset(const Item& item, int value) const {
    Mask positions = 0;
    for (int k = 0; k < item.num_bits; ++k)
        if (value >> k & 1) positions |= unit(row_of(item, k));
    return rows_.offset(positions);
}

// Tells whether a permutation adds one bit to another, and moves whole rows: then none has to be moved. Where there is
// padding, it has to, since what a row is there for has to show in its number.
bool Writer::is_cx(const Item& item) const {
    const Index* to = context_.values.data() + item.to;
    bool flips = item.num_bits == 1 && to[0] == 1 && to[1] == 0;
    return flips && count(when_mask(item)) == 1 && !(when_mask(item) & rows_.lane_mask()) && !rows_.padded();
}

// Lets the frame follow a CX.
void Writer::cx(const Item& item) {
    joined_.close();
    rows_.cx(lowest(when_mask(item)), lowest(bits_of(item)[0]), when_value(item) != 0);
}

// Appends a permutation of rows, as exchanges of two; in some lanes only, it is a matrix.
void Writer::exchange(const Item& item, const Index* to) {
    Int half = rows_.bytes() / 2;
    for (auto [a, b] : transpositions(to, 1 << item.num_bits)) {
        Int offsets[] = {row_offset(item, a), row_offset(item, b)};
        RowSelection where = select(item, true);
        if (when_mask(item) & rows_.lane_mask()) {
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
