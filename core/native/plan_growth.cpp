// The bits that a state has while its plan is made, and the order of the bits of a new state.

#include "plan_growth.hpp"

#include <algorithm>

namespace qx::plan {

namespace {

constexpr int at_once[] = {0, 1, 2, 3, 4, 6};  // the numbers of bits by which growing a large state is tried
constexpr int most_at_once = 6;
constexpr double rounded = 1 + 1e-9;           // of sums of times, so that no choice is discarded that is as good

double power_of_two(int exponent) { return static_cast<double>(Mask{1} << exponent); }

}  // namespace

Directions Growth::tile(const Pending& pending, std::vector<Directions>& reasons) {
    if (shape_.tile >= num_bits_ && pending.size() <= window) {  // nothing is to be chosen
        complete();
        find_reasons(pending, every_, 64, reasons);
        return every_;
    }
    find_reasons(pending, low_, shape_.tile - shape_.low, reasons);
    Directions tile;
    while (!worth_a_sweep(pending, reasons, tile)) reach_ = larger(pending);
    tile = fill(tile, every_.without(fresh), shape_.tile, true);
    tile = fill(tile, reach_, shape_.tile, true);
    tile = fill(tile, every_, shape_.tile, true);
    fresh = fresh.without(tile);
    reach_ |= tile;
    return tile;
}

// Finds bits for a tile within the reach; false if all work should run later, in a larger state.
//
// The larger state has at least two bits more. Running work later costs its arithmetic three times more; running it now
// costs one more pass over the state as it is.
bool Growth::worth_a_sweep(const Pending& pending, const std::vector<Directions>& reasons, Directions& out) const {
    bool last = reach_ == every_;
    if (!last && reach_.size() < shape_.start) return false;
    out = choose(pending, reasons, low_, reach_.without(low_), shape_.tile - shape_.low);
    if (last) return true;
    bool runs = false;
    for (Directions reason : reasons) runs = runs || reason.within(out);
    return runs && 3 * arithmetic(pending, reasons, out) >= shape_.balance;
}

// Returns the reach with as few added bits as let enough work run to occupy a pass over the state.
Directions Growth::larger(const Pending& pending) const {
    Directions others = every_.without(reach_);
    int room = others.size();
    int free = std::min(room, std::max(0, shape_.start - reach_.size()));
    int tried = 0;
    std::vector<Directions> reasons;
    for (int more : at_once) {
        int size = std::max(1, free + more);
        if (size == tried || size >= room) continue;
        tried = size;
        if (reasons.empty()) find_reasons(pending, reach_, free + most_at_once, reasons);
        Directions bits = choose(pending, reasons, reach_, others, size);
        if (!(bits == reach_) && arithmetic(pending, reasons, bits) >= shape_.balance) return bits;
    }
    return every_;
}

double foresee(const std::vector<Outline>& work, int num_bits, const Shape& shape, Mask fresh, Mask low, double most,
               double seen, bool floats) {
    Growth growth(num_bits, shape, fresh, low);
    std::vector<Index> swept;
    double time = 0, left = 0;
    for (std::size_t k = 0; k < work.size(); ++k)
        if (work[k].in_a_sweep()) {
            swept.push_back(static_cast<Index>(k));
            left += work[k].work;
        }
    Pending pending = Pending::of(work, &swept);
    std::vector<Directions> reasons;
    std::vector<Index> ready;
    while (!pending.empty()) {
        double before = power_of_two(growth.size());
        Directions tile = growth.tile(pending, reasons);
        ready.clear();
        split(pending, reasons, tile, ready);
        double after = power_of_two(growth.size()), ran = 0;
        for (Index number : ready) ran += work[number].work;
        left -= ran;  // exact: costs are small multiples of a power of two
        if (floats && growth.float_low(ready, pending, tile)) ran += transposed;
        double memory = (before + after) / 2, arithmetic = ran * after / shape.balance;
        time += std::max(memory, arithmetic) + seen * std::min(memory, arithmetic) + power_of_two(shape.start);
        double least = time + left * after / shape.balance;  // the state never shrinks
        if (least > most * rounded) return least;
    }
    return time;
}

}  // namespace qx::plan
