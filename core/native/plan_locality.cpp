// The choice of bits to bring near, at every level of the memory hierarchy.

#include "plan_locality.hpp"

#include <algorithm>

namespace qx::plan {

namespace {

constexpr int most_candidates = 192;  // distinct reasons that are compared, the earliest first
constexpr Int rank_unit = 1000000;    // earlier reasons win ties: the earliest work tends to hold up the most

struct Candidate {
    Directions missing;
    Int weight;
};

// Distinct reasons with the weight of their work, the earliest first.
class Candidates {
  public:
    // Returns whether there is room for more.
    bool add(Directions reason, Int weight) {
        std::size_t at = mixed(reason.units) % slots;
        for (; used_[at]; at = (at + 1) % slots) {
            if (found_[used_[at] - 1].missing == reason) {
                found_[used_[at] - 1].weight += weight;
                return size_ < most_candidates;
            }
        }
        found_[size_] = {reason, weight};
        used_[at] = static_cast<std::uint16_t>(++size_);
        return size_ < most_candidates;
    }

    // Takes directions out of all reasons: some become alike then, and those that are met are left out.
    void remove(Directions added) {
        int before = size_;
        std::memset(used_, 0, sizeof used_);
        size_ = 0;
        for (int k = 0; k < before; ++k) {
            Candidate candidate = found_[k];
            Directions missing = candidate.missing.without(added);
            if (!missing.empty()) add(missing, candidate.weight);
        }
    }

    // Returns the first of the reasons of at most `room` directions that bring the most weight for each; -1 for none.
    int best(int room, Directions added, Bound bound) const {
        Lacks lacks[64] = {};  // for each direction the reasons that contain it
        Directions every;
        for (int k = 0; k < size_; ++k) {
            every |= found_[k].missing;
            each(found_[k].missing.units, [&](int one) { lacks[one].word[k / 64] |= unit(k % 64); });
        }
        int best = -1, least = 1;
        Int most = 0;
        for (int k = 0; k < size_; ++k) {
            Directions missing = found_[k].missing;
            if (missing.size() > room || !bound.holds(missing | added)) continue;
            Lacks others{};  // the reasons that would not be met
            each(every.without(missing).units, [&](int one) {
                for (int w = 0; w < words; ++w) others.word[w] |= lacks[one].word[w];
            });
            Int gain = 0;
            for (int w = 0; w < words; ++w) {
                Mask met = ~others.word[w] & below(std::min(64, std::max(0, size_ - 64 * w)));
                each(met, [&](int one) { gain += found_[64 * w + one].weight; });
            }
            if (best < 0 || gain * least > most * missing.size()) best = k, most = gain, least = missing.size();
        }
        return best;
    }

    Candidate& operator[](int k) { return found_[k]; }
    int size() const { return size_; }

  private:
    static constexpr std::size_t slots = 512;
    static constexpr int words = (most_candidates + 63) / 64;
    struct Lacks {
        Mask word[words];
    };
    Candidate found_[most_candidates];
    std::uint16_t used_[slots] = {};
    int size_ = 0;
};

}  // namespace

namespace {

// For each bit the reasons of the waiting pieces that mix it, and of those that touch it.
struct Waiting {
    Directions mixing[64], touching[64];

    // Returns what a piece waits for beside `reason`, and adds the piece, which waits for nothing if that is empty.
    // Most pieces touch one bit or two, for which there is no branch; a piece with one bit has it twice.
    Directions add(const Outline& piece, Directions reason, int capacity, Mask& open) {
        if (Mask others = piece.touched & (piece.touched - 1); !piece.touched || others & (others - 1))
            return add_many(piece, reason, capacity, open);
        int one = lowest(piece.touched), other = 63 - __builtin_clzll(piece.touched);
        Directions if_one = all_if(piece, one), if_other = all_if(piece, other);
        reason |= mixing[one] | mixing[other] | touching[one].common(if_one) | touching[other].common(if_other);
        mixing[one] |= reason.common(if_one);
        mixing[other] |= reason.common(if_other);
        touching[one] |= reason;
        touching[other] |= reason;
        open &= ~(Mask{mixing[one].size() > capacity} << one | Mask{mixing[other].size() > capacity} << other);
        return reason;
    }

  private:
    static Directions all_if(const Outline& piece, int bit) { return {-(piece.mixed.units >> bit & 1)}; }

    Directions add_many(const Outline& piece, Directions reason, int capacity, Mask& open) {
        each(piece.touched, [&](int bit) { reason |= mixing[bit]; });
        each(piece.mixed.units, [&](int bit) { reason |= touching[bit]; });
        each(piece.mixed.units, [&](int bit) {
            mixing[bit] |= reason;
            if (mixing[bit].size() > capacity) open &= ~unit(bit);
        });
        each(piece.touched, [&](int bit) { touching[bit] |= reason; });
        return reason;
    }
};

}  // namespace

void find_reasons(const Pending& pending, Directions near, int capacity, std::vector<Directions>& out) {
    out.clear();
    Mask open = pending.scope;  // bits whose next work may run
    std::size_t free = pending.free;
    Waiting waiting;
    std::size_t size = pending.size();
    int count = 0;
    for (std::size_t k = 0; k < size; ++k) {
        const Outline& piece = pending[k];
        free -= pending.is_free(piece);
        Directions reason = piece.mixed.without(near);
        if (!piece.in_a_sweep()) reason |= never;
        reason = waiting.add(piece, reason, capacity, open);
        out.push_back(reason);
        if (reason.empty()) continue;
        if (++count >= window || !(open || free)) break;
    }
}

Directions choose(const Pending& pending, const std::vector<Directions>& reasons, Directions near, Directions allowed,
                  int capacity, Bound bound) {
    Candidates candidates;
    Directions possible = near | allowed, every;
    for (std::size_t k = 0; k < reasons.size(); ++k) {
        if (reasons[k].empty() || !reasons[k].within(possible) || reasons[k].size() > capacity) continue;
        every |= reasons[k];
        if (!candidates.add(reasons[k], pending[k].weight())) break;
    }
    if (every.size() <= capacity && bound.holds(every)) return near | every;  // nothing is to be chosen
    for (int k = 0; k < candidates.size(); ++k) candidates[k].weight *= rank_unit + candidates.size() - k;
    Directions added;
    for (;;) {
        int best = candidates.best(capacity - added.size(), added, bound);
        if (best < 0) return near | added;
        added |= candidates[best].missing;
        candidates.remove(added);
    }
}

double arithmetic(const Pending& pending, const std::vector<Directions>& reasons, Directions near) {
    double sum = 0;
    for (std::size_t k = 0; k < reasons.size(); ++k)
        if (reasons[k].within(near)) sum += pending[k].work;
    return sum;
}

void split(Pending& pending, const std::vector<Directions>& reasons, Directions near, std::vector<Index>& ready) {
    std::vector<Index> left;
    for (std::size_t k = 0; k < reasons.size(); ++k)
        (reasons[k].within(near) ? ready : left).push_back(pending.number(k));
    for (std::size_t k = 0; pending.free && k < reasons.size(); ++k) pending.free -= pending.is_free(pending[k]);
    std::size_t looked = reasons.size(), front = pending.front.size();
    if (looked < front)
        left.insert(left.end(), pending.front.begin() + static_cast<std::ptrdiff_t>(looked), pending.front.end());
    else
        pending.next += looked - front;
    pending.front.swap(left);
}

}  // namespace qx::plan
