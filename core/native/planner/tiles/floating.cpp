// Low bits that change from sweep to sweep.

#include "planner/tiles/floating.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "planner/tiles/sweep.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

Mask moved(Mask mask, const BitPlaces& to) {
    Mask out = 0;
    each(mask, [&](int bit) { out |= unit(to[bit]); });
    return out;
}

Int moved(Int mask, const BitPlaces& to) { return static_cast<Int>(moved(static_cast<Mask>(mask), to)); }

BitPlaces through(const BitPlaces& first, const BitPlaces& then) {
    BitPlaces out;
    for (int place : first) out.push_back(then[place]);
    return out;
}

}  // namespace

Floating::Floating(int num_bits, const Shape& shape, Directions high)
    : high(high), shape_(shape), at_(static_cast<std::size_t>(num_bits)) {
    std::iota(at_.begin(), at_.end(), 0);
    low_ = on(shape.low);
}

Directions Floating::on(int count) const {
    Directions out;
    for (std::size_t bit = 0; bit < at_.size(); ++bit)
        if (at_[bit] < count) out.units |= unit(static_cast<int>(bit));
    return out;
}

void Floating::store(Directions low) {
    std::vector<int> going;
    each(low_.without(low).units, [&](int bit) { going.push_back(bit); });
    std::sort(going.begin(), going.end(), [&](int a, int b) { return at_[a] < at_[b]; });
    auto other = going.begin();
    each(low.without(low_).units, [&](int bit) { std::swap(at_[bit], at_[*other++]); });
    low_ = low;
}

BitPlaces Floating::beginning() const {
    BitPlaces end(at_.size()), to(at_.size());
    std::iota(end.begin(), end.end(), 0);
    auto rank = [&](int bit) { return std::tuple(at_[bit] >= shape_.edge, at_[bit] >= shape_.low, bit); };
    std::sort(end.begin(), end.end(), [&](int a, int b) { return rank(a) < rank(b); });
    for (std::size_t place = 0; place < end.size(); ++place) to[at_[end[place]]] = static_cast<int>(place);
    return to;
}

void Floating::settle(const BitPlaces& begin, StepArrays& steps, PlanContext& context) const {
    context.words = settled(begin, 0, 0, steps, context);
}

void Floating::settle_from(std::size_t first, StepArrays& steps, PlanContext& context) const {
    BitPlaces begin(at_.size());
    std::iota(begin.begin(), begin.end(), 0);
    std::vector<Mask> words = settled(begin, first, static_cast<Int>(context.words.size()), steps, context);
    context.words.insert(context.words.end(), words.begin(), words.end());
}

// Returns the words of steps from a number on, those of steps and items alone: pieces may share theirs. They will stand
// behind `offset` others.
std::vector<Mask> Floating::settled(const BitPlaces& begin, std::size_t first, Int offset, StepArrays& steps,
                                    const PlanContext& context) const {
    std::vector<Mask> words;
    BitPlaces at = begin;
    auto take = [&](Int from, Int size) {
        Int out = offset + static_cast<Int>(words.size());
        for (Int k = from; k < from + size; ++k) words.push_back(moved(context.words[k], at));
        return out;
    };
    for (std::size_t number = first; number < steps.steps.size(); ++number) {
        Step& step = steps.steps[number];
        BitPlaces after = through(trail_[number], begin);
        step.fresh = moved(step.fresh, at);
        if (step.type == Step::sweep) {
            Mask stored[64];
            each(static_cast<Mask>(step.tile), [&](int bit) { stored[at[bit]] = unit(after[bit]); });
            step.tile = moved(step.tile, at);
            bool stays = true;
            each(static_cast<Mask>(step.tile), [&](int bit) { stays = stays && stored[bit] == unit(bit); });
            if (!stays) {
                step.words = offset + static_cast<Int>(words.size()), step.num_bits = count(static_cast<Mask>(step.tile));
                each(static_cast<Mask>(step.tile), [&](int bit) { words.push_back(stored[bit]); });
            }
            for (Int k = step.begin; k < step.end; ++k) {
                RegisterBlock& block = steps.register_blocks[k];
                block.registers = moved(block.registers, at);
                for (Int j = block.begin; j < block.end; ++j) {
                    Item& item = steps.items[j];
                    item.words = take(item.words, 2 * item.num_bits + item.num_reads);
                    item.when_mask = moved(item.when_mask, at), item.when_value = moved(item.when_value, at);
                }
            }
        } else if (step.type != Step::zero_fill) {
            step.words = take(step.words, 2 * step.num_bits + step.num_reads);
            step.when_mask = moved(step.when_mask, at), step.when_value = moved(step.when_value, at);
        }
        at.swap(after);
    }
    return words;
}

bool next_low(const std::vector<Index>& ready, const Pending& left, Directions tile, Directions& low, Directions reach,
              Directions every, const Shape& shape, Reasons& reasons) {
    if (left.empty() || !left[0].in_a_sweep()) return false;
    Bound bound{tile, shape.tile - shape.low};
    reasons.find(left, {}, shape.tile, bound);
    Directions wanted = choose(reasons, {}, reach, shape.tile, bound);
    if (wanted.empty()) wanted = choose(reasons, {}, every, shape.tile, bound);
    // The number of the last piece that mixes a bit, and of the first one behind the sweep, counted from the last of these.
    int last[64], first[64];
    std::fill(last, last + 64, -1), std::fill(first, first + 64, -1);
    Mask missing = tile.units;
    for (std::size_t k = ready.size(); missing && k-- > 0;)
        each((*left.work)[ready[k]].mixed.units & missing, [&](int bit) {
            last[bit] = static_cast<int>(k);
            missing ^= unit(bit);
        });
    missing = tile.common(wanted).units;
    int looked = static_cast<int>(thresholds.left_behind.at_most(static_cast<Int>(left.size())));
    for (int k = 0; missing && k < looked; ++k)
        each(left[k].mixed.units & missing, [&](int bit) {
            first[bit] = looked - 1 - k;
            missing ^= unit(bit);
        });
    // Bits in the order in which they are taken: those that are not wanted, not needed for long, low already.
    std::uint64_t order[64];
    int size = 0;
    each(tile.units, [&](int bit) {
        bool used = wanted.units >> bit & 1;
        std::uint64_t needed = static_cast<std::uint64_t>(2 + last[bit] + (used ? first[bit] : 0));
        order[size++] = std::uint64_t{used} << 63 | needed << 8 | (~low.units >> bit & 1) << 7 | static_cast<unsigned>(bit);
    });
    std::sort(order, order + size, [](std::uint64_t a, std::uint64_t b) { return a < b; });
    int room = shape.tile - wanted.size();
    Directions out;
    for (int k = 0; k < size && out.size() < shape.low; ++k)
        if (order[k] >> 63 || room-- > 0) out.units |= unit(static_cast<int>(order[k] & 127));
    low = out;
    return true;
}

}  // namespace qx::plan
