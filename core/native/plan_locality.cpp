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
    Candidate* begin() { return found_; }
    int size() const { return size_; }

  private:
    static constexpr std::size_t slots = 512;
    Candidate found_[most_candidates];
    std::uint16_t used_[slots] = {};
    int size_ = 0;
};

}  // namespace

void find_reasons(const Pending& pending, Directions near, std::vector<Reason>& out) {
    out.clear();
    Reason mixing[64], touching[64];  // for each bit, the reasons of the waiting pieces that mix it, or touch it
    Mask mixed_bits = 0, touched_bits = 0;
    std::size_t size = pending.size();
    int waiting = 0;
    for (std::size_t k = 0; k < size; ++k) {
        const Piece& piece = pending[k];
        Reason reason{piece.mixed.without(near), !piece.in_a_sweep()};
        each(piece.touched & mixed_bits, [&](int bit) {
            reason.missing |= mixing[bit].missing;
            reason.never |= mixing[bit].never;
        });
        each(piece.mixed.units & touched_bits, [&](int bit) {
            reason.missing |= touching[bit].missing;
            reason.never |= touching[bit].never;
        });
        out.push_back(reason);
        if (reason.none()) continue;
        mixed_bits |= piece.mixed.units;
        touched_bits |= piece.touched;
        each(piece.mixed.units, [&](int bit) {
            mixing[bit].missing |= reason.missing;
            mixing[bit].never |= reason.never;
        });
        each(piece.touched, [&](int bit) {
            touching[bit].missing |= reason.missing;
            touching[bit].never |= reason.never;
        });
        if (++waiting >= window) break;
    }
}

Directions choose(
    const Pending& pending, const std::vector<Reason>& reasons, Directions near, Directions allowed, int capacity) {
    Candidates candidates;
    Directions possible = near | allowed;
    for (std::size_t k = 0; k < reasons.size(); ++k) {
        const Reason& reason = reasons[k];
        if (reason.none() || !reason.met(possible) || reason.missing.size() > capacity) continue;
        if (!candidates.add(reason.missing, pending[k].weight())) break;
    }
    Candidate* found = candidates.begin();
    int size = candidates.size();
    Directions every{};
    for (int k = 0; k < size; ++k) {
        every |= found[k].missing;
        found[k].weight *= rank_unit + size - k;
    }
    if (every.size() <= capacity) return near | every;  // no need to choose
    Directions added{};
    for (;;) {
        // Without what is added, some reasons have become alike, and those that are met are no longer compared.
        int left = 0;
        for (int k = 0; k < size; ++k) {
            Directions missing = found[k].missing.without(added);
            if (missing.empty()) continue;
            int same = 0;
            while (same < left && !(found[same].missing == missing)) ++same;
            if (same < left)
                found[same].weight += found[k].weight;
            else
                found[left++] = {missing, found[k].weight};
        }
        size = left;
        int room = capacity - added.size(), best = -1, best_size = 1;
        Int most = 0;
        for (int k = 0; k < size; ++k) {
            Directions missing = found[k].missing;
            if (missing.size() > room) continue;
            Int gain = 0;
            for (int j = 0; j < size; ++j) gain += found[j].missing.within(missing) ? found[j].weight : 0;
            if (best < 0 || gain * best_size > most * missing.size()) best = k, most = gain, best_size = missing.size();
        }
        if (best < 0) return near | added;
        added |= found[best].missing;
    }
}

double arithmetic(const Pending& pending, const std::vector<Reason>& reasons, Directions near) {
    double sum = 0;
    for (std::size_t k = 0; k < reasons.size(); ++k)
        if (reasons[k].met(near)) sum += pending[k].work;
    return sum;
}

void split(Pending& pending, const std::vector<Reason>& reasons, Directions near, std::vector<Index>& ready) {
    std::vector<Index> left;
    for (std::size_t k = 0; k < reasons.size(); ++k)
        (reasons[k].met(near) ? ready : left).push_back(pending.number(k));
    std::size_t looked = reasons.size(), front = pending.front.size();
    if (looked < front)
        left.insert(left.end(), pending.front.begin() + static_cast<std::ptrdiff_t>(looked), pending.front.end());
    else
        pending.next += looked - front;
    pending.front.swap(left);
}

}  // namespace qx::plan
