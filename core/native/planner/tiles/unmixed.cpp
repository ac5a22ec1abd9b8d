// Bits by which a sweep lets a state grow although no work mixes them.

#include "planner/tiles/unmixed.hpp"

#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

// What CX have put onto a bit so far: the sum of some bits of the tile.
class Followed {
  public:
    Followed(Mask bit, Mask tile, const PlanContext& context) : bit_(bit), tile_(tile), context_(context) {}

    // Returns false if an item mixes the bit, or depends on what CX have put there.
    bool pass(const Item& item) {
        const Mask* words = context_.words.data() + item.words;
        const Mask* reads = words + 2 * item.num_bits;
        Mask mixed = 0, when = static_cast<Mask>(item.when_mask);
        for (Int k = 0; k < item.num_bits; ++k) mixed |= words[k];
        const bool told = parity_ || mixed & bit_;
        if (told && when & bit_) return false;
        for (Int k = 0; k < item.num_reads; ++k)
            if (told ? reads[k] & bit_ : reads[k] == bit_) return false;
        if (!(mixed & (parity_ | bit_))) return true;
        parity_ ^= when;
        return is_cx(item) && item.when_value == item.when_mask && when & tile_;
    }

  private:
    bool is_cx(const Item& item) const {
        const Index* to = context_.values.data() + item.to;
        return item.kind == static_cast<Int>(Kind::permute) && item.num_bits == 1 && to[0] == 1 && to[1] == 0 &&
               count(static_cast<Mask>(item.when_mask)) == 1;
    }

    Mask bit_, tile_, parity_ = 0;
    const PlanContext& context_;
};

}  // namespace

int count_unmixed(const Step& sweep, const StepArrays& steps, const PlanContext& context, const Shape& shape) {
    const Mask tile = static_cast<Mask>(sweep.tile);
    int found = 0;
    if (shape.in_vectors() || sweep.begin == sweep.end) return 0;
    const Int begin = steps.register_blocks[static_cast<std::size_t>(sweep.begin)].begin;
    const Int end = steps.register_blocks[static_cast<std::size_t>(sweep.end) - 1].end;
    each(static_cast<Mask>(sweep.fresh) & tile, [&](int bit) {
        Followed followed(unit(bit), tile, context);
        bool passes = count(tile) - found > thresholds.unmixed_tile;
        for (Int k = begin; passes && k < end; ++k) passes = followed.pass(steps.items[static_cast<std::size_t>(k)]);
        found += passes;
    });
    return found;
}

}  // namespace qx::plan
