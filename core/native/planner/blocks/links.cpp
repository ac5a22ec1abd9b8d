// Dense matrices that follow each other.

#include "planner/blocks/links.hpp"

namespace qx::plan {

namespace {

constexpr int index_bits = 64;

// What each bit is left by, while the items of a plan are looked at in turn; in a sweep by index bits, else as in memory.
class OpenEnds {
  public:
    explicit OpenEnds(std::vector<LinkedBlock>& blocks) : blocks_(blocks) { close(~Mask{0}); }

    void close(Mask bits) {
        each(bits, [&](int bit) { ends_[bit] = -1; });
    }
    // Lets a map say where each bit comes from, or where it goes; ends are lost if it does more than move bits.
    void move(const Mask* columns, bool reading) {
        Int moved[index_bits];
        Mask all = 0;
        bool moves = true;
        for (int bit = 0; bit < index_bits; ++bit) {
            moves = moves && count(columns[bit]) == 1;
            all |= columns[bit];
        }
        if (!moves || all != ~Mask{0}) return close(~Mask{0});
        for (int bit = 0; bit < index_bits; ++bit) {
            const int place = lowest(columns[bit]);
            if (reading) moved[bit] = ends_[place];
            else moved[place] = ends_[bit];
        }
        std::copy(moved, moved + index_bits, ends_);
    }
    // Links a block with what its bits are left by, and leaves them itself.
    void link(Int block, const Mask* bits) {
        constexpr Int most = LinkedBlock::most;
        LinkedBlock& linked = blocks_[static_cast<std::size_t>(block)];
        for (int k = 0; k < linked.bits; ++k) {
            Int& end = ends_[lowest(bits[k])];
            const Int own = most * block + k;
            if (end >= 0) {
                blocks_[static_cast<std::size_t>(end / most)].after[end % most] = own;
                linked.before[k] = end;
            }
            end = own;
        }
    }

  private:
    std::vector<LinkedBlock>& blocks_;
    Int ends_[index_bits];
};

}  // namespace

bool is_block(const PlanContext& context, const Item& item) {
    if (item.kind != static_cast<Int>(Kind::mix) || item.num_reads || item.when_mask) return false;
    if (item.num_bits != 2 && item.num_bits != LinkedBlock::most) return false;
    const Interned::Bytes pattern = context.patterns[static_cast<Index>(item.pattern)];
    const Mask* words = context.words.data() + item.words;
    for (Int bit = 0; bit < item.num_bits; ++bit)
        if (words[bit] != words[item.num_bits + bit] || count(words[bit]) != 1) return false;
    return std::all_of(pattern.begin(), pattern.end(), numbered) && pattern.find(complex_) != Interned::Bytes::npos;
}

SweepMaps::SweepMaps(const PlanContext& context, const Step& sweep) {
    for (int bit = 0; bit < index_bits; ++bit) load[bit] = unit(bit);
    const Mask* words = context.words.data();
    std::copy_n(words + sweep.loads, sweep.num_loads, load);
    std::copy_n(load, index_bits, store);
    const Mask tile = static_cast<Mask>(sweep.tile), *stored = words + sweep.words;
    if (sweep.num_bits == count(tile)) each(tile, [&](int bit) { store[bit] = *stored++; });
    else std::copy_n(stored, sweep.num_bits, store);
}

BlockLinks::BlockLinks(const PlanContext& context, const StepArrays& steps) : of_item(steps.items.size(), -1) {
    OpenEnds ends(blocks);
    Int packed = 0;
    for (const Step& step : steps.steps) {
        if (step.type == Step::sweep) {
            const SweepMaps maps(context, step);
            ends.move(maps.load, true);
            for (Int k = step.begin; k < step.end; ++k) {
                const RegisterBlock& items = steps.register_blocks[static_cast<std::size_t>(k)];
                for (Int number = items.begin; number < items.end; ++number) {
                    const Item& item = steps.items[static_cast<std::size_t>(number)];
                    const Mask* words = context.words.data() + item.words;
                    if (is_block(context, item)) {
                        const Int block = of_item[static_cast<std::size_t>(number)] = static_cast<Int>(blocks.size());
                        blocks.push_back({.slot = packed + item.slot, .bits = static_cast<int>(item.num_bits)});
                        ends.link(block, words);
                        continue;
                    }
                    ends.close(static_cast<Mask>(item.when_mask));
                    for (Int j = 0; j < 2 * item.num_bits + item.num_reads; ++j) ends.close(words[j]);
                }
            }
            ends.move(maps.store, false);
        } else if (step.type != Step::zero_fill) {
            ends.close(~Mask{0});
        }
        packed = step.packed;
    }
    if (!turnable()) blocks.clear(), of_item.clear();
}

Int BlockLinks::turnable() const {
    return std::count_if(blocks.begin(), blocks.end(), [](const LinkedBlock& block) { return block.may_be_turned(); });
}

}  // namespace qx::plan
