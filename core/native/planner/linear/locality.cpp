// The choice of directions to bring near.

#include "planner/linear/locality.hpp"

#include <cstring>
#include <utility>

#include "planner/locality.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

constexpr Int rank_unit = 1000000;            // earlier reasons win ties

bool meets_oddly(const FramedWork& work, const Framed& mover, const Framed& reader) {
    if (!(mover.moved & reader.read)) return false;
    for (int k = 0; k < mover.piece.num_mixed; ++k)
        for (int j = 0; j < reader.num_parities(); ++j)
            if (is_odd(work.directions(mover)[k] & work.parities(reader)[j])) return true;
    return false;
}

// Reasons that are chosen from, the earliest first; equal ones are one.
class LinearCandidates {
  public:
    LinearCandidates() { std::memset(slots_, 0, sizeof slots_); }

    void add(const Basis& missing, Int weight) {
        std::uint64_t key = static_cast<std::uint64_t>(missing.size());
        for (Mask vector : missing) key = (key ^ vector) * 0x9e3779b97f4a7c15ull, key ^= key >> 29;
        std::size_t at = key % slots;
        while (slots_[at] && !is(of_[slots_[at] - 1u], missing)) at = (at + 1) % slots;
        if (!slots_[at]) {
            Candidate made{rows_.size(), missing.size(), 0, 0};
            for (Mask vector : missing) made.pivots |= unit(highest(vector)), rows_.push_back(vector);
            of_.push_back(made);
            slots_[at] = static_cast<std::uint16_t>(of_.size());
        }
        of_[slots_[at] - 1u].weight += weight;
    }
    // Makes them some reasons without what is near.
    void set(const LinearCandidates& before, const Span& near) {
        of_.clear(), rows_.clear();
        std::memset(slots_, 0, sizeof slots_);
        for (const Candidate& one : before.of_) {
            Basis rest;
            for (int k = 0; k < one.size; ++k) rest.add(near.left(before.rows_[one.at + at(k)]));
            if (rest.size()) add(rest, one.weight);
        }
    }
    // Returns the vectors of the first of those that bring the most weight for each dimension and fit; none if none does.
    Vectors best(int room, const Span& inside, int outside) const {
        std::vector<const Candidate*> order;  // those of the fewest dimensions first: only such lie in another one
        for (const Candidate& one : of_) order.push_back(&one);
        std::sort(order.begin(), order.end(), [](const Candidate* one, const Candidate* other) {
            return one->size != other->size ? one->size < other->size : one < other;
        });
        const Candidate* found = nullptr;
        double most = 0;
        Int sum = 0;  // the weight of those with fewer dimensions
        for (std::size_t k = 0, first = 0; k < order.size(); ++k) {
            for (; order[first]->size < order[k]->size; ++first) sum += order[first]->weight;
            const Candidate& one = *order[k];
            if (one.size > room) break;
            if (found && static_cast<double>(one.weight + sum) / one.size < most) continue;
            if (outside >= 0 && beyond(inside, one) > outside) continue;
            Int gain = one.weight;
            for (std::size_t j = 0; j < first; ++j)
                if (!(order[j]->pivots & ~one.pivots) && lies_in(*order[j], one)) gain += order[j]->weight;
            double each = static_cast<double>(gain) / one.size;
            if (!found || each > most || (each == most && &one < found)) found = &one, most = each;
        }
        return found ? Vectors(rows(*found), rows(*found) + found->size) : Vectors();
    }

  private:
    // A reason: where its reduced basis stands, the highest bits of these vectors, and what it weighs.
    struct Candidate {
        std::size_t at;
        int size;
        Mask pivots;
        Int weight;
    };
    static constexpr std::size_t slots = 512;  // of a table that has at most thresholds.reasons entries

    const Mask* rows(const Candidate& one) const { return rows_.data() + one.at; }
    bool is(const Candidate& one, const Basis& basis) const {
        return one.size == basis.size() && std::equal(basis.begin(), basis.end(), rows(one));
    }
    bool lies_in(const Candidate& one, const Candidate& other) const {
        for (const Mask* vector = rows(one); vector != rows(one) + one.size; ++vector) {
            Mask left = *vector;
            for (const Mask* row = rows(other); row != rows(other) + other.size; ++row) left = std::min(left, left ^ *row);
            if (left) return false;
        }
        return true;
    }
    int beyond(const Span& inside, const Candidate& one) const {
        Basis rest;
        for (int k = 0; k < one.size; ++k) rest.add(inside.left(rows(one)[k]));
        return rest.size();
    }

    std::vector<Candidate> of_;
    Vectors rows_;
    std::uint16_t slots_[slots];  // where a reason stands in `of_`, from 1 on
};

}  // namespace

Order::Order(const FramedWork& work) {
    std::size_t words = work.size() / 64 + 1;
    std::vector<Mask> all_before(work.size() * words);  // for each piece a bit for each one before it
    for (std::size_t number = 0; number < work.size(); ++number) {
        Mask* every = all_before.data() + number * words;
        for (std::size_t word = number / 64 + 1; word-- > 0;) {
            Mask left = below(static_cast<int>(std::min(number - 64 * word, std::size_t{64})));
            while (left &= ~every[word]) {
                const int bit = highest(left);
                const std::size_t other = 64 * word + at(bit);
                left ^= unit(bit);
                if (!meets_oddly(work, work[number], work[other]) && !meets_oddly(work, work[other], work[number])) continue;
                before_.push_back(static_cast<Index>(other));
                for (std::size_t k = 0; k <= word; ++k) every[k] |= all_before[other * words + k];
            }
        }
        ends_.push_back(static_cast<Index>(before_.size()));
    }
}

Index Subspaces::of(const Basis& basis) {
    std::size_t bytes = static_cast<std::size_t>(basis.size()) * sizeof(Mask);
    Index number = known_.of({reinterpret_cast<const char*>(basis.begin()), bytes});
    if (number + 1 == ends_.size()) {
        rows_.insert(rows_.end(), basis.begin(), basis.end());
        ends_.push_back(rows_.size());
    }
    return number;
}

LinearReasons linear_reasons(const Numbers& pending, const FramedWork& work, const Order& order, const Span& near,
                             int most) {
    LinearReasons found;
    std::vector<Index> waits(work.size());  // the reason of a piece that waits, 0 of all others
    Numbers added;  // for each reason the last piece to whose reason it was added: many pieces before one have the same
    int waiting = 0;
    for (Index number : pending) {
        const Framed& piece = work[number];
        Basis parts;
        Index begins = 0;  // the reason that the parts are as long as nothing is added
        bool known = true;
        for (const Index* other = order.begin(number); known && other != order.end(number); ++other) {
            Index reason = waits[*other];
            known = reason != LinearReasons::wide;
            if (!reason || !known || std::exchange(added[reason], number) == number) continue;
            const Mask *first = found.spaces.begin(reason), *end = found.spaces.end(reason);
            if (begins) {
                for (const Mask* row = first; row != end; ++row) parts.add(*row);
                known = parts.size() <= most;
            } else {
                begins = reason, parts = Basis(first, end);
            }
        }
        for (int k = 0; known && k < piece.piece.num_mixed; ++k) parts.add(near.left(work.directions(piece)[k]));
        bool as_begun = begins && parts.size() == found.spaces.dimensions(begins);
        Index reason = !known || parts.size() > most ? LinearReasons::wide : as_begun ? begins : found.spaces.of(parts);
        found.numbers.push_back(number), found.of.push_back(reason);
        added.resize(found.spaces.size(), LinearReasons::wide);
        waits[number] = reason;
        if (reason && ++waiting >= thresholds.left_behind) break;
    }
    return found;
}

LinearReasons LinearReasons::beside(const Span& near, int most) const {
    LinearReasons out;
    Numbers now;
    for (Index reason = 0; reason < spaces.size(); ++reason) {
        Basis rest;
        for (const Mask* row = spaces.begin(reason); row != spaces.end(reason); ++row) rest.add(near.left(*row));
        now.push_back(rest.size() <= most ? out.spaces.of(rest) : wide);
    }
    out.numbers = numbers;
    out.of.reserve(of.size());
    for (Index reason : of) out.of.push_back(reason == wide ? wide : now[reason]);
    return out;
}

std::vector<bool> LinearReasons::lie_in(const Span& space) const {
    std::vector<bool> out;
    for (Index reason = 0; reason < spaces.size(); ++reason)
        out.push_back(std::all_of(spaces.begin(reason), spaces.end(reason), [&](Mask vector) { return space.has(vector); }));
    return out;
}

double LinearReasons::arithmetic(const FramedWork& work, const Span& near) const {
    std::vector<bool> runs = lie_in(near);
    double sum = 0;
    for (std::size_t k = 0; k < of.size(); ++k)
        if (of[k] != wide && runs[of[k]]) sum += work[numbers[k]].piece.work;
    return sum;
}

Vectors choose(const LinearReasons& reasons, const FramedWork& work, const Vectors& near, int capacity,
               const LinearBound& bound) {
    std::vector<bool> allowed(reasons.spaces.size(), true);
    if (bound.allowed) allowed = reasons.lie_in(*bound.allowed);
    std::vector<Int> weights(reasons.spaces.size());
    Numbers order;  // the distinct reasons, the earliest first
    for (std::size_t k = 0; k < reasons.of.size(); ++k) {
        Index reason = reasons.of[k];
        if (!reason || reason == LinearReasons::wide || !allowed[reason]) continue;
        if (!weights[reason]) {
            if (order.size() >= thresholds.reasons) continue;
            order.push_back(reason);
        }
        weights[reason] += work[reasons.numbers[k]].piece.weight();
    }
    LinearCandidates candidates;
    for (std::size_t k = 0; k < order.size(); ++k) {
        Basis missing;
        for (const Mask* row = reasons.spaces.begin(order[k]); row != reasons.spaces.end(order[k]); ++row) missing.add(*row);
        candidates.add(missing, weights[order[k]] * (rank_unit + static_cast<Int>(order.size() - k)));
    }
    Span span(near), known(bound.inside);
    Vectors added;
    LinearCandidates spare;
    for (int outside = bound.outside;;) {
        spare.set(candidates, span);
        std::swap(candidates, spare);
        Vectors best = candidates.best(capacity - static_cast<int>(added.size()), known, outside);
        if (best.empty()) return added;
        for (Mask vector : best) {
            added.push_back(vector);
            span.add(vector);
            if (outside >= 0) outside -= known.add(vector);
        }
    }
}

void split(const Numbers& pending, const FramedWork& work, const Order& order, const Span& near, Numbers& ready,
           Numbers& left) {
    std::vector<bool> waiting(work.size());
    ready.clear(), left.clear();
    for (Index number : pending) {
        const Framed& piece = work[number];
        bool runs = true;
        for (const Index* other = order.begin(number); runs && other != order.end(number); ++other) runs = !waiting[*other];
        for (int k = 0; runs && k < piece.piece.num_mixed; ++k) runs = near.has(work.directions(piece)[k]);
        (runs ? ready : left).push_back(number);
        waiting[number] = !runs;
    }
}

}  // namespace qx::plan
