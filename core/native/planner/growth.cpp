// The bits that a state has while its plan is made, and the order of the bits of a new state.

#include "planner/growth.hpp"

#include <algorithm>

#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

constexpr int at_once[] = {0, 1, 2, 3, 4, 6};  // the numbers of bits by which growing a large state is tried
constexpr int most_at_once = 6;
// The most that a phase weighs as a part of a table, by the number of bits that it touches, the last for all others: one
// that touches none is part of any table, and a table has many phases of pairs with one bit, but fewer of one.
constexpr double weights[] = {0, 1.5, 0.5};
constexpr double rounded = 1 + 1e-9;           // of sums of times, so that no choice is discarded that is as good

double power_of_two(int exponent) { return static_cast<double>(Mask{1} << exponent); }

}  // namespace

Directions Growth::tile(const Pending& pending, Reasons& reasons) {
    if (shape_.tile >= num_bits_ && pending.size() <= thresholds.left_behind) {  // nothing is to be chosen
        complete();
        reasons.find(pending, every_, 64);
        return every_;
    }
    const int room = shape_.tile - shape_.low;
    if (known_ && beyond_.narrow(low_, room)) std::swap(reasons, beyond_);
    else reasons.find(pending, low_, room);
    known_ = false;
    Directions tile;
    while (!worth_a_sweep(reasons, tile)) reach_ = larger(pending);
    tile = fill(tile, every_.without(fresh), shape_.tile, true);
    tile = fill(tile, reach_, shape_.tile, true);
    tile = fill(tile, every_.without(last_), shape_.tile, true);
    tile = fill(tile, every_, shape_.tile, true);
    fresh = fresh.without(tile);
    reach_ |= tile;
    return tile;
}

// Finds bits for a tile within the reach; false if all work should run later, in a larger state.
//
// The larger state has at least two bits more. Running work later costs its arithmetic three times more; running it now
// costs one more pass over the state as it is, which is little where others than the bits that join last are there.
bool Growth::worth_a_sweep(const Reasons& reasons, Directions& out) {
    bool last = reach_ == every_;
    if (!last && reach_.size() < shape_.start) return false;
    out = choose(reasons, low_, reach_.without(low_), shape_.tile - shape_.low);
    if (last) return true;
    const double arithmetic = reasons.arithmetic(out);
    return (arithmetic > 0 && reach_ == every_.without(last_)) || enough(3 * arithmetic);
}

// Returns the reach with as few added bits as let enough work run to occupy a pass over the state.
Directions Growth::larger(const Pending& pending) {
    Directions others = every_.without(reach_ | last_);
    if (others.empty()) others = last_;
    int room = others.size();
    int free = std::min(room, std::max(0, shape_.start - reach_.size()));
    int tried = 0;
    for (int more : at_once) {
        int size = std::max(1, free + more);
        if (size == tried || size >= room) continue;
        if (!tried) beyond_.find(pending, reach_, free + most_at_once);
        tried = size;
        Directions bits = choose(beyond_, reach_, others, size);
        if (!(bits == reach_) && enough(beyond_.arithmetic(bits))) return bits;
    }
    return reach_ | others;
}

bool Growth::enough(double arithmetic) {
    bool found = arithmetic >= least_;
    if (found) same_.most = std::min(same_.most, arithmetic);
    else same_.above = std::max(same_.above, arithmetic);
    return found;
}

std::vector<WorkOutline> outlines(const std::vector<Piece>& work, std::size_t most, bool weighed, bool in_sweeps) {
    std::vector<WorkOutline> out;
    out.reserve(std::min(work.size(), most));
    for (std::size_t k = 0; k < std::min(work.size(), most); ++k) {
        if (in_sweeps && !work[k].in_a_sweep()) continue;
        out.push_back(work[k]);
        if (weighed && work[k].kind == Kind::diagonal)
            out.back().work = std::min(work[k].work, weights[std::min(count(work[k].touched), 2)]);
    }
    return out;
}

std::vector<WorkOutline> with_diagonals(std::vector<WorkOutline> work) {
    constexpr std::size_t nobody = ~std::size_t{0};
    std::size_t mixer[64], kept = 0;  // of each bit
    std::fill(std::begin(mixer), std::end(mixer), nobody);
    for (std::size_t k = 0; k < work.size(); ++k) {
        const WorkOutline piece = work[k];
        std::size_t same = nobody;
        if (piece.kind == Kind::diagonal && piece.touched) {
            same = mixer[lowest(piece.touched)];
            each(piece.touched, [&](int bit) { same = mixer[bit] == same ? same : nobody; });
        }
        if (same != nobody) {
            work[same].work += piece.work;
            work[same].joined = static_cast<std::uint16_t>(work[same].joined + piece.weight());
            continue;
        }
        each(piece.mixed.units, [&](int bit) { mixer[bit] = kept; });
        work[kept++] = piece;
    }
    work.erase(work.begin() + static_cast<std::ptrdiff_t>(kept), work.end());
    return work;
}

Mask waited_for_last(const std::vector<WorkOutline>& work) {
    Mask mixing[64] = {},
         touching[64] = {};  // of each bit, what is mixed by what waits for work that mixes it, or touches it
    for (std::size_t k = work.size(); k-- > 0;) {
        Mask mixed = work[k].mixed.units;
        each(work[k].touched, [&](int bit) { mixed |= mixing[bit]; });
        each(work[k].mixed.units, [&](int bit) { mixed |= touching[bit]; });
        each(work[k].touched, [&](int bit) { touching[bit] |= mixed; });
        each(work[k].mixed.units, [&](int bit) { mixing[bit] = mixed; });
    }
    Mask out = 0;
    for (int bit = 0; bit < 64; ++bit)
        if (mixing[bit] == unit(bit)) out |= unit(bit);
    return out;
}

CostEstimate::CostEstimate(const std::vector<Piece>& work, std::size_t looked_at, int num_bits, const Shape& shape,
                           Mask fresh, bool weighed)
    : shape_(shape), num_bits_(num_bits), fresh_(fresh), work_(with_diagonals(outlines(work, looked_at, weighed, true))) {
    for (const WorkOutline& piece : work_) {
        sum_ += piece.work;
        each(piece.mixed.units, [&](int bit) { ++mixing_[bit]; });
    }
    pending_ = Pending::of(work_);
    last_ = waited_for_last(work_) & fresh;
}

CostEstimate::Prediction CostEstimate::predict(Mask low, bool floats, double worth, double most, bool waits) {
    Growth growth(num_bits_, shape_, fresh_, low, worth, waits ? last_ : 0);
    if (waits && !(last_ & ~low)) return {std::numeric_limits<double>::infinity(), growth.same()};
    Pending pending = pending_;
    std::copy(std::begin(mixing_), std::end(mixing_), mix_left_);
    double time = 0, left = sum_;
    while (!pending.empty()) {
        double before = power_of_two(growth.size());
        Directions tile = growth.tile(pending, reasons_);
        ready_.clear();
        split(pending, reasons_, tile, ready_);
        double after = power_of_two(growth.size()), ran = 0;
        for (Index number : ready_) {
            ran += work_[number].work;
            each(work_[number].mixed.units, [&](int bit) { --mix_left_[bit]; });
        }
        left -= ran;  // exact: costs are small multiples of a power of two
        if (floats && growth.float_low(ready_, pending, tile)) ran += shape_.transposed;
        double memory = shape_.slowed() * (before + after) / 2, arithmetic = ran * after / shape_.balance;
        time += shape_.taken(memory, arithmetic) + power_of_two(shape_.start);
        double least = pending.empty() ? time : time + least_left(growth, left);
        if (least > most * rounded) return {least, growth.same()};
    }
    return {time, growth.same()};
}

// Returns a time that sweeps over a growing state take at least, for work of so many multiply-adds per amplitude.
//
// The state never shrinks, has all bits that are mixed in the end, and each sweep brings no more bits near than fit beside
// those that are lowest.
double CostEstimate::least_left(const Growth& growth, double work) const {
    Mask mixed = 0;
    for (int bit = 0; bit < num_bits_; ++bit)
        if (mix_left_[bit]) mixed |= unit(bit);
    double now = power_of_two(growth.size()), end = power_of_two(growth.size() + count(mixed & growth.fresh.units));
    int added = std::max(1, shape_.tile - shape_.low);
    double sweeps = std::max(1, (count(mixed) - shape_.low + added - 1) / added);
    double memory = shape_.slowed() * ((sweeps - 1) * now + (now + end) / 2);
    return shape_.taken(memory, work * now / shape_.balance) + sweeps * power_of_two(shape_.start);
}

}  // namespace qx::plan
