// The choice of bits to bring near, at every level of the memory hierarchy.

#include "plan_locality.hpp"

#include <algorithm>

namespace qx::plan {

namespace {

constexpr int most_candidates = 192;  // distinct reasons that are compared, the earliest first
constexpr Int rank_unit = 1000000;    // earlier reasons win ties: the earliest work tends to hold up the most

// Reasons among which directions are chosen, known by number, and sets of them: masks of so many words.
template <int words>
class Candidates {
  public:
    Candidates(const Reasons::Distinct* const* reasons, int size) {
        for (int k = 0; k < size; ++k) {
            every_ |= reasons[k]->missing;
            missing_[k] = reasons[k]->missing;
            weight_[k] = reasons[k]->weight * (rank_unit + size - k);
            each(missing_[k].units, [&](int one) { needing_[one].word[k / 64] |= unit(k % 64); });
        }
    }

    // Returns at most `capacity` directions that bring much weight: again and again those of the best candidate.
    Directions greedy(int capacity, Bound bound) const {
        for (Directions added;;) {
            int best = best_of(needing(every_.without(added)), added, capacity, bound);
            if (best < 0) return added;
            added |= missing_[best];
        }
    }

  private:
    struct Set {
        Mask word[words];
    };

    // Returns the candidates that need one of some directions.
    Set needing(Directions directions) const {
        Set out{};
        each(directions.units, [&](int one) {
            for (int w = 0; w < words; ++w) out.word[w] |= needing_[one].word[w];
        });
        return out;
    }

    // Returns the first of the unmet candidates that bring the most weight for each direction that is to be added beside
    // `added`; -1 if none fits.
    int best_of(const Set& unmet, Directions added, int capacity, Bound bound) const {
        int best = -1, least = 1;
        Int most = 0;
        for (int w = 0; w < words; ++w)
            each(unmet.word[w], [&](int bit) {
                Directions grown = missing_[64 * w + bit] | added;
                if (grown.size() > capacity || !bound.holds(grown)) return;
                int size = grown.size() - added.size();
                Int gain = weight_of(unmet, needing(every_.without(grown)));
                if (best < 0 || gain * least > most * size) best = 64 * w + bit, most = gain, least = size;
            });
        return best;
    }

    // Returns the weight of the candidates of one set that are not in another.
    Int weight_of(const Set& set, const Set& others) const {
        Int sum = 0;
        for (int w = 0; w < words; ++w)
            each(set.word[w] & ~others.word[w], [&](int bit) { sum += weight_[64 * w + bit]; });
        return sum;
    }

    Directions every_;
    Directions missing_[64 * words];
    Int weight_[64 * words];
    Set needing_[64] = {};  // for each direction the candidates that need it
};

// What pieces wait for that come after some waiting pieces.
class Waiting {
  public:
    explicit Waiting(int capacity) : capacity_(capacity) {}

    // Returns what a piece waits for beside `reason`, and adds the piece, which waits for nothing if that is empty.
    Directions add(const Outline& piece, Directions reason) {
        if (!(piece.touched & mixed_widely_ || piece.mixed.units & touched_widely_)) {
            each(piece.touched, [&](int bit) { reason |= mixing_[bit]; });
            each(piece.mixed.units, [&](int bit) { reason |= touching_[bit]; });
            if (reason.empty()) return reason;
            if (reason.size() <= capacity_) {
                wait(piece, reason);
                return reason;
            }
        }
        mixed_widely_ |= piece.mixed.units;
        touched_widely_ |= piece.touched;
        return Reasons::wide;
    }
    // The bits whose next work waits for more directions than will be added.
    Mask closed() const { return mixed_widely_; }

  private:
    void wait(const Outline& piece, Directions reason) {
        each(piece.mixed.units, [&](int bit) {
            mixing_[bit] |= reason;
            mixed_widely_ |= Mask{mixing_[bit].size() > capacity_} << bit;
        });
        each(piece.touched, [&](int bit) { touching_[bit] |= reason; });
    }

    int capacity_;
    // For each bit the reasons of the waiting pieces that mix it, and of those that touch it, wide ones left out.
    Directions mixing_[64], touching_[64];
    // The bits that are mixed by pieces which wait for too much, and those that are touched.
    Mask mixed_widely_ = 0, touched_widely_ = 0;
};

}  // namespace

void Reasons::find(const Pending& pending, Directions near, int capacity) {
    of_.clear(), distinct_.clear();
    std::memset(at_, 0, sizeof at_);
    runs_ = 0;
    std::size_t free = pending.free;
    const std::size_t size = pending.size(), front = pending.front.size(), behind = pending.next - front;
    const Index *left = pending.front.data(), *all = pending.all ? pending.all->data() : nullptr;
    const Outline* work = pending.work->data();
    const Mask scope = pending.scope;
    Waiting waiting(capacity);
    int count = 0;
    for (std::size_t k = 0; k < size; ++k) {
        const Outline& piece = work[k < front ? left[k] : all ? all[k + behind] : k + behind];
        free -= !(piece.touched & scope);
        Directions reason = piece.mixed.without(near);
        if (!piece.in_a_sweep()) reason |= never;
        reason = waiting.add(piece, reason);
        of_.push_back(reason);
        if (reason.empty()) {
            runs_ += piece.work;
            continue;
        }
        if (!(reason == wide)) add(reason, piece);
        if (++count >= window || !(scope & ~waiting.closed() || free)) break;
    }
}

void Reasons::add(Directions reason, const Outline& piece) {
    std::size_t at = reason.units * 0x9e3779b97f4a7c15ull >> 54;
    while (at_[at] && !(distinct_[at_[at] - 1].missing == reason)) at = (at + 1) % slots;
    if (!at_[at]) {
        distinct_.push_back({reason, 0, 0});
        at_[at] = static_cast<std::uint16_t>(distinct_.size());
    }
    Distinct& found = distinct_[at_[at] - 1];
    found.weight += piece.weight();
    found.work += piece.work;
}

double Reasons::arithmetic(Directions near) const {
    double sum = runs_;
    for (const Distinct& reason : distinct_)
        if (reason.missing.within(near)) sum += reason.work;
    return sum;
}

Directions choose(const Reasons& reasons, Directions near, Directions allowed, int capacity, Bound bound) {
    const Reasons::Distinct* found[most_candidates];
    int size = 0;
    Directions possible = near | allowed, every;
    for (const Reasons::Distinct& reason : reasons.distinct()) {
        if (!reason.missing.within(possible) || reason.missing.size() > capacity) continue;
        every |= reason.missing;
        found[size++] = &reason;
        if (size == most_candidates) break;
    }
    if (every.size() <= capacity && bound.holds(every)) return near | every;  // nothing is to be chosen
    return near | (size <= 64 ? Candidates<1>(found, size).greedy(capacity, bound)
                              : Candidates<most_candidates / 64>(found, size).greedy(capacity, bound));
}

void split(Pending& pending, const Reasons& reasons, Directions near, std::vector<Index>& ready) {
    std::vector<Index>& left = pending.spare;
    left.clear();
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
