// What runs on a growing state before it is spread over devices.

#include "planner/stages/early.hpp"

namespace qx::plan {

namespace {

void take_all(const Pending& pending, std::vector<Index>& out) {
    out.clear();
    for (std::size_t k = 0; k < pending.size(); ++k) out.push_back(pending.number(k));
}

Mask mixed_by(const Pending& pending) {
    Mask mixed = 0;
    pending.each([&](const WorkOutline& piece) {
        mixed |= piece.mixed.units;
        return true;
    });
    return mixed;
}

}  // namespace

void EarlyGrowth::divide(const std::vector<WorkOutline>& work, const std::vector<Index>& pending, Mask there, Mask far,
                         int size, std::vector<Index>& ready, std::vector<Index>& left) const {
    Pending all = Pending::of(work, &pending);
    if (!steadily || !until_done(all, there, far, size, ready, left)) at_once(all, there, ready, left);
}

// Takes the work up to the sweep after which `size` bits are done; false if the state is too large then, or if something
// comes before that no sweep does.
bool EarlyGrowth::until_done(Pending pending, Mask there, Mask far, int size, std::vector<Index>& ready,
                             std::vector<Index>& left) const {
    Growth growth(num_bits, shape, below(num_bits) & ~there, low, worth, 0);
    Reasons reasons;
    Mask mixed = there;
    ready.clear();
    while (!pending.empty() && pending[0].in_a_sweep()) {
        Directions tile = growth.tile(pending, reasons);
        if (growth.size() > most) return false;
        std::size_t before = ready.size();
        split(pending, reasons, tile, ready);
        if (ready.size() == before) return false;  // what comes first needs more bits than a tile has
        for (std::size_t k = before; k < ready.size(); ++k) mixed |= (*pending.work)[ready[k]].mixed.units;
        if (count(mixed & far & ~low & ~mixed_by(pending)) >= size) return take_all(pending, left), true;
    }
    return false;
}

// Takes the work that can run with as many bits as the state may have.
void EarlyGrowth::at_once(Pending pending, Mask there, std::vector<Index>& ready, std::vector<Index>& left) const {
    int room = most - count(there);
    ready.clear();
    if (room > 0) {
        Reasons reasons;
        reasons.find(pending, {there}, room);
        split(pending, reasons, choose(reasons, {there}, {below(num_bits) & ~there}, room), ready);
    }
    take_all(pending, left);
}

}  // namespace qx::plan
