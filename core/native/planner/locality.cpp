// The choice of bits to bring near, at every level of the memory hierarchy.

#include "planner/locality.hpp"

#include <algorithm>

#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

constexpr int most_reasons = 192;  // that are compared: thresholds.reasons is no more
constexpr Int rank_unit = 1000000;    // earlier reasons win ties: the earliest work tends to hold up the most

// Distinct reasons among which directions are chosen, those of the fewest directions first.
class Candidates {
  public:
    void add(const Reasons::Distinct& reason) {
        missing_[size_] = reason.missing.units;
        weight_[size_] = reason.weight;
        rank_[size_] = size_, ++size_;
    }
    int size() const { return size_; }

    // Returns at most `capacity` directions that bring much weight: again and again those of the best candidate.
    Directions greedy(int capacity, Bound bound) {
        for (int k = 0; k < size_; ++k) weight_[k] *= rank_unit + size_ - k;
        for (Directions added;;) {
            keep(added, capacity, bound);
            if (!size_) return added;
            added.units |= missing_[best()];
        }
    }

  private:
    // Leaves the candidates that are not met and fit beside `added`, with what they need beside it. Others will never fit,
    // nor will what they are a part of.
    void keep(Directions added, int capacity, Bound bound) {
        int kept = 0, room = capacity - added.size();
        sorted_ = size_ > few, total_ = 0;
        if (sorted_) std::memset(slots_, 0, sizeof slots_);
        for (int k = 0; k < size_; ++k) {
            Mask missing = missing_[k] & ~added.units;
            if (missing && count(missing) <= room && bound.holds({missing | added.units}))
                total_ += weight_[k], merge(missing, weight_[k], rank_[k], kept);
        }
        size_ = kept;
        if (sorted_) sort(room);
        else std::fill_n(weight_ + kept, at_once, 0);  // which are read, too
    }

    // Adds a candidate to the first `kept` ones, or, of many, its weight to its equal.
    void merge(Mask missing, Int weight, int rank, int& kept) {
        if (!sorted_) {
            missing_[kept] = missing, weight_[kept] = weight, rank_[kept++] = rank;
            return;
        }
        std::size_t at = missing * 0x9e3779b97f4a7c15ull >> 56;
        while (slots_[at] && missing_[slots_[at] - 1] != missing) at = (at + 1) % slots;
        if (!slots_[at]) {
            missing_[kept] = missing, weight_[kept] = weight, rank_[kept] = rank;
            slots_[at] = static_cast<std::uint8_t>(++kept);
            return;
        }
        int same = slots_[at] - 1;
        weight_[same] += weight, rank_[same] = std::min(rank_[same], rank);
    }

    // Puts the candidates of the fewest directions first, and sets where those of each number of directions begin; none has
    // more than `room`.
    void sort(int room) {
        for (int of = 0; of < room + 2; ++of) begin_[of] = 0;
        for (int k = 0; k < size_; ++k) ++begin_[count(missing_[k]) + 1];
        int next[66];
        for (int of = 0; of < room + 2; ++of) next[of] = begin_[of] += of ? begin_[of - 1] : 0;
        Mask missing[most_reasons];
        Int weight[most_reasons];
        int rank[most_reasons];
        for (int k = 0; k < size_; ++k) {
            int to = next[count(missing_[k])]++;
            missing[to] = missing_[k], weight[to] = weight_[k], rank[to] = rank_[k];
        }
        std::copy_n(missing, size_, missing_), std::copy_n(weight, size_, weight_), std::copy_n(rank, size_, rank_);
        Int sum = 0;
        for (int of = 0, k = 0; of <= room; ++of) {
            for (; k < begin_[of]; ++k) sum += weight_[k];
            lighter_[of] = sum;
        }
    }

    // Returns the weight of the first candidates that need no other directions.
    Int weight_within(Mask directions, int size) const {
        Masks others = ~directions - Masks{}, missing;
        Weights sum{}, weight;
        int k = 0;
        for (; k + at_once <= size; k += at_once) {
            std::memcpy(&missing, missing_ + k, sizeof missing);
            std::memcpy(&weight, weight_ + k, sizeof weight);
            sum += weight & ((missing & others) == 0);  // no branch: it would be predicted wrongly half of the times
        }
        Int out = 0;
        for (int j = 0; j < at_once; ++j) out += sum[j];
        for (; k < size; ++k) out += missing_[k] & ~directions ? 0 : weight_[k];
        return out;
    }

    // Returns the earliest of the candidates that bring the most weight for each direction. Where they are distinct, what
    // is a part of one needs fewer directions.
    int best() const {
        int best = 0, least = 1, whole = (size_ + at_once - 1) / at_once * at_once;
        Int most = 0;
        for (int k = 0; k < size_; ++k) {
            int needed = count(missing_[k]);
            Int bound = sorted_ ? weight_[k] + lighter_[needed] : total_;
            if (bound * least < most * needed) continue;  // with all that can be a part of it, it brings less
            Int gain = sorted_ ? weight_[k] + weight_within(missing_[k], begin_[needed]) : weight_within(missing_[k], whole);
            Int more = gain * least - most * needed;
            if (more > 0 || (more == 0 && rank_[k] < rank_[best])) best = k, most = gain, least = needed;
        }
        return best;
    }

    static constexpr int at_once = 4;
    static constexpr int few = 48;  // candidates are compared as they are
    static constexpr std::size_t slots = 256;  // of a table that has at most `most_reasons` entries
    typedef Mask Masks __attribute__((vector_size(at_once * sizeof(Mask))));
    typedef Int Weights __attribute__((vector_size(at_once * sizeof(Int))));

    int size_ = 0;
    bool sorted_ = false;
    Mask missing_[most_reasons + at_once];
    Int weight_[most_reasons + at_once];
    int rank_[most_reasons];  // the earliest first
    Int total_ = 0;           // the weight of all
    int begin_[66];           // where candidates of so many directions begin
    Int lighter_[66];         // the weight of all with fewer directions
    std::uint8_t slots_[slots];  // where a candidate stands, from 1 on
};

// The bits that are mixed by pieces which wait for too much, and those that are touched.
struct Widely {
    Mask mixed = 0, touched = 0;
};

// What pieces wait for that come after some waiting pieces.
class Waiting {
  public:
    Waiting(Directions near, int capacity, Bound bound) : far_(~near.units), capacity_(capacity), bound_(bound) {}

    // Returns what a piece waits for, and adds it; it waits for nothing if that is empty.
    [[gnu::always_inline]] Directions add(const WorkOutline& piece, Widely& widely) {
        if (!(piece.touched & widely.mixed || piece.mixed.units & widely.touched)) {
            Mask reason = piece.plain ? of_plain(piece) : of_any(piece);
            if (!reason) return {};
            if (count(reason) <= capacity_ && bound_.holds({reason})) {
                if (piece.plain) wait_plain(piece, reason);
                else wait_any(piece, reason);
                return {reason};
            }
        }
        widely.mixed |= piece.mixed.units;
        widely.touched |= piece.touched;
        return Reasons::wide;
    }

  private:
    // For each bit the reasons of the waiting pieces that mix it, and of those that touch it, wide ones left out. What mixes
    // a bit waits for all that touch it, so both are its reason then.
    Mask& mixing(int bit) { return of_[2 * bit]; }
    Mask& touching(int bit) { return of_[2 * bit + 1]; }

    Mask of_plain(const WorkOutline& piece) const {
        return (piece.mixed.units & far_) | of_[2 * piece.touches[0] - piece.mixes[0]] |
               of_[2 * piece.touches[1] - piece.mixes[1]];
    }
    void wait_plain(const WorkOutline& piece, Mask reason) {
        for (int k = 0; k < 2; ++k) {
            mixing(piece.touches[k]) |= reason & static_cast<Mask>(piece.mixes[k]);
            touching(piece.touches[k]) |= reason;
        }
    }
    [[gnu::noinline]] Mask of_any(const WorkOutline& piece) {
        Mask reason = piece.mixed.units & far_;
        if (!piece.in_a_sweep()) reason |= never.units;
        each(piece.touched, [&](int bit) { reason |= mixing(bit); });
        each(piece.mixed.units, [&](int bit) { reason |= touching(bit); });
        return reason;
    }
    [[gnu::noinline]] void wait_any(const WorkOutline& piece, Mask reason) {
        each(piece.touched, [&](int bit) { touching(bit) |= reason; });
        each(piece.mixed.units, [&](int bit) { mixing(bit) = reason; });
    }

    Mask far_;
    int capacity_;
    Bound bound_;
    Mask of_[2 * WorkOutline::places] = {};
};

}  // namespace

void Reasons::find(const Pending& pending, Directions near, int capacity, Bound bound) {
    distinct_.clear();
    std::memset(at_, 0, sizeof at_);
    double runs = 0;
    const auto window = static_cast<std::size_t>(thresholds.left_behind);
    std::size_t free = pending.free, size = 0, left = window;
    Waiting waiting(near, capacity, bound);
    Widely widely;
    pending.each([&](const WorkOutline& piece) __attribute__((always_inline)) {
        Directions reason = waiting.add(piece, widely);
        if (size == of_.size()) of_.resize(2 * size + window);
        of_[size++] = reason;
        if (reason.empty()) {
            runs += piece.work;
            free -= free && pending.is_free(piece);  // it waits for nothing
            return true;
        }
        if (!(reason == wide)) add(reason, piece.joint_weight(), piece.work);
        left -= std::min(left, std::size_t{1} + piece.joined);
        return left && (pending.scope & ~widely.mixed || free);  // what mixes none of these bits waits for too much
    });
    runs_ = runs, size_ = size, whole_ = left > 0;
}

// What waits for more than fits does so with them near, too.
bool Reasons::narrow(Directions near, int capacity) {
    if (!whole_) return false;
    const auto narrowed = [&](Directions reason) {
        Directions rest = reason.without(near);
        return rest.size() > capacity ? wide : rest;
    };
    for (std::size_t k = 0; k < size_; ++k) of_[k] = of_[k] == wide ? wide : narrowed(of_[k]);
    spare_.swap(distinct_);
    distinct_.clear();
    std::memset(at_, 0, sizeof at_);
    for (const Distinct& one : spare_) {
        Directions rest = narrowed(one.missing);
        if (rest.empty()) runs_ += one.work;
        else if (!(rest == wide)) add(rest, one.weight, one.work);
    }
    return true;
}

void Reasons::add(Directions reason, Int weight, double work) {
    std::size_t at = reason.units * 0x9e3779b97f4a7c15ull >> 54;
    while (at_[at] && !(distinct_[at_[at] - 1].missing == reason)) at = (at + 1) % slots;
    if (!at_[at]) {
        distinct_.push_back({reason, 0, 0});
        at_[at] = static_cast<std::uint16_t>(distinct_.size());
    }
    Distinct& found = distinct_[at_[at] - 1];
    found.weight += weight;
    found.work += work;
}

double Reasons::arithmetic(Directions near) const {
    double sum = runs_;
    for (const Distinct& reason : distinct_)
        if (reason.missing.within(near)) sum += reason.work;
    return sum;
}

Directions choose(const Reasons& reasons, Directions near, Directions allowed, int capacity, Bound bound) {
    Candidates candidates;
    Directions possible = near | allowed, every;
    for (const Reasons::Distinct& reason : reasons.distinct()) {
        if (!reason.missing.within(possible) || reason.missing.size() > capacity) continue;
        every |= reason.missing;
        candidates.add(reason);
        if (candidates.size() >= thresholds.reasons) break;
    }
    if (every.size() <= capacity && bound.holds(every)) return near | every;  // nothing is to be chosen
    return near | candidates.greedy(capacity, bound);
}

void split(Pending& pending, const Reasons& reasons, Directions near, std::vector<Index>& ready) {
    const std::size_t looked = reasons.size(), front = pending.front.size(), runs = ready.size();
    for (std::size_t k = 0; pending.free && k < looked; ++k) pending.free -= pending.is_free(pending[k]);
    ready.resize(runs + looked);
    pending.spare.resize(looked);
    Index *to = ready.data() + runs, *left = pending.spare.data();
    for (std::size_t k = 0; k < looked; ++k) {  // no branch: half of the pieces run
        bool run = reasons[k].within(near);
        *to = *left = pending.number(k);
        to += run, left += !run;
    }
    ready.resize(static_cast<std::size_t>(to - ready.data()));
    pending.spare.resize(static_cast<std::size_t>(left - pending.spare.data()));
    if (looked < front)
        pending.spare.insert(pending.spare.end(), pending.front.begin() + static_cast<std::ptrdiff_t>(looked),
                             pending.front.end());
    else pending.next += looked - front;
    pending.front.swap(pending.spare);
}

}  // namespace qx::plan
