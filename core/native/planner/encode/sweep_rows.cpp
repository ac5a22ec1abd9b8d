// The rows of a sweep while it is encoded: where they stand in memory and in the tile, and which of them an item acts on.

#include "planner/encode/sweep_rows.hpp"

#include <algorithm>

namespace qx::plan {

namespace {

constexpr std::size_t index_bits = 63;  // the most bits of an index

// Appends for each set of steps their sum, which is a place in memory, or `none` where a step is nowhere; `first` is the
// sum of no steps.
void append_sums(const std::vector<Int>& steps, Int none, std::vector<Int>& out, Int first = 0) {
    std::size_t begin = out.size();
    out.push_back(first);
    for (Int step : steps)
        for (std::size_t k = begin, end = out.size(); k < end; ++k)
            out.push_back(step == nowhere || out[k] == none ? none : out[k] ^ step);
}

}  // namespace

bool SweepRows::begin(Mask tile, const std::vector<TouchedBits>& work) {
    first_integer_ = out_.integers.size();
    const bool direct = layout_.first(tile, work, lane_bits_);
    frame_.begin(layout_.rows.size());
    frame_changed();
    look();
    return direct;
}

void SweepRows::exchange(const Swaps& swaps) {
    layout_.exchange(swaps);
    look();
}

void SweepRows::cx(int control, int target, bool value) {
    if (row_of_[control] >= 0) frame_.cx(row_of_[control], row_of_[target], value);
    else frame_.cx_outside(control, row_of_[target], value);
    frame_changed();
}

// Notes the place of each index bit.
void SweepRows::look() {
    row_mask_ = lane_mask_ = 0, all_ = 0;
    padded_ = false;
    std::fill(row_of_, row_of_ + 64, -1);
    for (std::size_t k = 0; k < layout_.rows.size(); ++k)
        if (int bit = layout_.rows[k]; bit < pad) {
            row_of_[bit] = static_cast<int>(k);
            row_mask_ |= unit(bit);
            all_ |= Mask{1} << k;
        } else {
            padded_ = true;
        }
    for (std::size_t k = 0; k < layout_.lanes.size(); ++k)
        if (int bit = layout_.lanes[k]; bit < pad) lane_of_[bit] = static_cast<int>(k), lane_mask_ |= unit(bit);
        else padded_ = true;
    outside_ = ~(row_mask_ | lane_mask_);
}

// Begins steps and an origin for another frame.
void SweepRows::frame_changed() {
    steps_at_.clear();
    origin_ = -1;
}

Int SweepRows::add(const std::vector<Int>& values) {
    Int at = static_cast<Int>(out_.integers.size() - first_integer_);
    out_.integers.insert(out_.integers.end(), values.begin(), values.end());
    return at;
}

bool SweepRows::lanes_of(const Mask* columns, Mask tile, int* home) const {
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

std::pair<Int, Int> SweepRows::places(const Mask* columns, Mask fresh) {
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
    const Int of_rows = add(sums);
    sums.clear();
    append_sums(steps_of(layout_.lanes), 4 * nowhere, sums);
    return {of_rows, add(sums)};
}

Int SweepRows::bases(const Mask* columns, Mask tile) {
    std::vector<Int> added(index_bits);
    for (int bit = 0; bit < num_bits_; ++bit)
        if (!(tile >> bit & 1)) added[static_cast<std::size_t>(bit)] = static_cast<Int>(columns[bit] ^ unit(bit));
    for (std::size_t k = 0; k < layout_.rows.size(); ++k)
        each(frame_.outside[k],
             [&](int bit) { added[static_cast<std::size_t>(bit)] ^= static_cast<Int>(columns[layout_.rows[k]]); });
    return std::any_of(added.begin(), added.end(), [](Int mask) { return mask != 0; }) ? add(added) : -1;
}

Int SweepRows::steps(Mask free) {
    for (auto [known, at] : steps_at_)
        if (known == free) return at;
    std::vector<Int> integers;
    integers.reserve(static_cast<std::size_t>(count(free)));
    frame_.steps(free, bytes_, integers);
    steps_at_.push_back({free, add(integers)});
    return steps_at_.back().second;
}

Int SweepRows::reads(const std::vector<Mask>& masks) {
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

RowSelection SweepRows::select(BitValues when, Mask free, Mask fixed) {
    each(when.mask & row_mask_, [&](int bit) {
        free &= ~unit(row_of_[bit]);
        fixed |= (when.value >> bit & 1) << row_of_[bit];
    });
    RowSelection made{.outside_mask = static_cast<Int>(when.mask & outside_),
                      .outside_value = static_cast<Int>(when.value & outside_),
                      .free = bytes_ * static_cast<Int>(free),
                      .steps = -1,
                      .fixed = bytes_ * static_cast<Int>(frame_.row(fixed)),
                      .origin = -1,
                      .count = Int{1} << count(free)};
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

}  // namespace qx::plan
