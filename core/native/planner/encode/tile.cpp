// The places of a tile's bits while a sweep runs on a CPU, and the order in which its items run.

#include "planner/encode/tile.hpp"

#include <algorithm>

namespace qx::plan {

namespace {

bool has(const std::vector<int>& values, int value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

int place(const std::vector<int>& values, int value) {
    return static_cast<int>(std::find(values.begin(), values.end(), value) - values.begin());
}

// The number of the first item that mixes each bit. Bits that are never mixed come last, padding just before them: a
// lane of padding is wasted.
class FirstUse {
  public:
    explicit FirstUse(const std::vector<TouchedBits>& work) : last_(static_cast<int>(work.size())) {
        for (int& first : first_) first = last_ + 1;
        Mask seen = 0;
        for (int k = 0; k < last_; ++k) {
            each(work[k].mix & ~seen, [&](int bit) { first_[bit] = k; });
            seen |= work[k].mix;
        }
    }
    int operator()(int bit) const { return bit >= pad ? last_ : first_[bit]; }

  private:
    int last_;
    int first_[64];
};

// The `count` bits that are mixed last, the lowest ones among equals.
std::vector<int> latest(std::vector<int> bits, const FirstUse& use, std::size_t count) {
    std::sort(bits.begin(), bits.end(), [&](int a, int b) { return use(a) != use(b) ? use(a) > use(b) : a < b; });
    if (bits.size() > count) bits.resize(count);
    return bits;
}

int soonest(const std::vector<int>& bits, const FirstUse& use) {
    int found = use(bits[0]);
    for (int bit : bits) found = std::min(found, use(bit));
    return found;
}

}  // namespace

void take_runnable(std::vector<TouchedBits>& pending, Mask lanes, std::vector<TouchedBits>& ready) {
    std::vector<TouchedBits> left;
    Mask mixed = 0, touched = 0;  // by the items that were left
    for (const TouchedBits& piece : pending) {
        if (piece.mix & (lanes | touched) || piece.all & mixed) {
            left.push_back(piece);
            mixed |= piece.mix;
            touched |= piece.all;
        } else {
            ready.push_back(piece);
        }
    }
    pending.swap(left);
}

bool TileLayout::first(Mask tile, const std::vector<TouchedBits>& work, int lane_bits) {
    int most = 0;
    for (const TouchedBits& piece : work) most = std::max(most, count(piece.mix));
    int padding = std::max(0, most + lane_bits - count(tile));
    lanes.clear(), rows.clear();
    bool direct = !padding && (tile & below(lane_bits)) == below(lane_bits);
    std::vector<int> bits;
    each(tile, [&](int bit) { bits.push_back(bit); });
    for (int k = 0; k < padding; ++k) bits.push_back(pad + k);
    if (direct) lanes.assign(bits.begin(), bits.begin() + lane_bits);
    else lanes = latest(bits, FirstUse(work), static_cast<std::size_t>(lane_bits));
    for (int bit : bits)
        if (!has(lanes, bit)) rows.push_back(bit);
    return direct;
}

Mask TileLayout::lane_mask() const {
    Mask out = 0;
    for (int bit : lanes)
        if (bit < pad) out |= unit(bit);
    return out;
}

void TileLayout::exchange(const Swaps& swaps) {
    for (auto [lane, row] : swaps) std::swap(lanes[lane], rows[row]);
}

// All lanes are exchanged at once where that puts off the next exchange; it takes as long as two to five of one lane.
Swaps TileLayout::swaps_for(const std::vector<TouchedBits>& work) const {
    std::size_t size = lanes.size();
    FirstUse use(work);
    std::vector<int> all(lanes);
    all.insert(all.end(), rows.begin(), rows.end());
    std::vector<int> wanted = latest(all, use, size);
    int arriving = 0;
    for (int bit : wanted) arriving += !has(lanes, bit);
    if (arriving > 1) {
        std::vector<int> others = latest(rows, use, size);
        if (others.size() == size && soonest(others, use) > soonest(wanted, use)) wanted = others;
    }
    std::vector<int> coming, going;
    for (int bit : wanted)
        if (!has(lanes, bit)) coming.push_back(bit);
    for (std::size_t lane = 0; lane < size; ++lane)
        if (!has(wanted, lanes[lane])) going.push_back(static_cast<int>(lane));
    Swaps swaps;
    for (int lane : going) {
        int bit = coming[0];
        if (has(coming, lane)) {
            bit = lane;
        } else {
            auto found = std::find_if(coming.begin(), coming.end(), [&](int b) { return !has(going, b); });
            if (found != coming.end()) bit = *found;
        }
        coming.erase(coming.begin() + place(coming, bit));
        swaps.push_back({lane, place(rows, bit)});
    }
    return swaps;
}

std::vector<Swaps> TileLayout::swaps_home(const int* home) const {
    TileLayout here = *this;
    std::vector<int> away;
    for (int lane = 0; lane < static_cast<int>(lanes.size()); ++lane)
        if (lanes[lane] != home[lane]) away.push_back(lane);
    if (away.empty()) return {};
    bool in_rows = true;
    for (int lane : away) in_rows = in_rows && has(rows, home[lane]);
    std::vector<Swaps> groups;
    if (in_rows) {
        groups.emplace_back();
        for (int lane : away) groups[0].push_back({lane, place(rows, home[lane])});
        return groups;
    }
    for (int lane : away) {  // one at a time, through a row if a bit is in another's lane
        if (has(here.lanes, home[lane]) && here.lanes[lane] != home[lane]) {
            groups.push_back({{place(here.lanes, home[lane]), 0}});
            here.exchange(groups.back());
        }
        if (here.lanes[lane] != home[lane]) {
            groups.push_back({{lane, place(here.rows, home[lane])}});
            here.exchange(groups.back());
        }
    }
    return groups;
}

}  // namespace qx::plan
