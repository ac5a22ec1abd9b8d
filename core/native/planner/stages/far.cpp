// The choice of bits that are far.

#include "planner/stages/far.hpp"

#include <map>

#include "base/sorting.hpp"

namespace qx::plan {

namespace {

// A reason that some pieces have, and their weight.
struct Weighed {
    Mask reason;
    Int weight;
};

// Returns the distinct reasons that some set of `size` bits does not meet, in the order in which they come first.
std::vector<Weighed> distinct(const std::vector<WorkOutline>& work, const std::vector<Index>& pending,
                              const std::vector<Mask>& found, int size, Mask allowed) {
    std::map<Mask, std::size_t> known;
    std::vector<Weighed> out;
    for (std::size_t k = 0; k < pending.size(); ++k) {
        if (count(allowed & ~found[k]) < size) continue;
        auto [at, is_new] = known.try_emplace(found[k], out.size());
        if (is_new) out.push_back({found[k], 0});
        out[at->second].weight += weight_of(work[pending[k]]);
    }
    return out;
}

// A set of far bits in the making, and the weight of those that were far already.
struct Kept {
    Mask far;
    Int liked;
};

// A set with one bit more.
struct Wider {
    Int value;
    std::size_t row;
    Mask far;
};

}  // namespace

std::vector<Mask> reasons_of(const std::vector<WorkOutline>& work, const std::vector<Index>& pending, Mask near) {
    Mask mixing[WorkOutline::places] = {}, touching[WorkOutline::places] = {};
    std::vector<Mask> out;
    out.reserve(pending.size());
    for (Index number : pending) {
        const WorkOutline& piece = work[number];
        Mask reason = piece.mixed.units & ~near;
        if (piece.plain) {
            for (int k = 0; k < 2; ++k)
                reason |= mixing[piece.touches[k]] | (touching[piece.touches[k]] & static_cast<Mask>(piece.mixes[k]));
        } else {
            each(piece.touched, [&](int bit) { reason |= mixing[bit]; });
            each(piece.mixed.units, [&](int bit) { reason |= touching[bit]; });
        }
        out.push_back(reason);
        if (!reason) continue;
        each(piece.mixed.units, [&](int bit) { mixing[bit] |= reason; });
        each(piece.touched, [&](int bit) { touching[bit] |= reason; });
    }
    return out;
}

std::vector<FarSet> far_sets(const std::vector<WorkOutline>& work, const std::vector<Index>& pending,
                             const std::vector<Mask>& found, int size, Mask allowed, const Freedom& freedom, Mask stays,
                             std::size_t most) {
    std::vector<Weighed> reasons = distinct(work, pending, found, size, allowed);
    if (reasons.empty()) return {};
    std::vector<Kept> kept{{0, 0}};
    for (int k = 0; k < size; ++k) {
        std::vector<Wider> wider;
        for (std::size_t row = 0; row < kept.size(); ++row) {
            Int all = 0, waiting[64] = {};  // the weight of what runs now, and of what waits for each bit
            for (const Weighed& one : reasons) {
                if (one.reason & kept[row].far) continue;
                all += one.weight;
                each(one.reason & allowed, [&](int bit) { waiting[bit] += one.weight; });
            }
            each(allowed, [&](int bit) {
                Mask far = kept[row].far | unit(bit);
                Int runs = all - waiting[bit];
                if (far == kept[row].far || runs < 1 || !freedom.allows(far)) return;
                wider.push_back({runs + kept[row].liked + static_cast<Int>(stays >> bit & 1), row, far});
            });
        }
        sort_stably(wider, [](const Wider& a, const Wider& b) { return a.value > b.value; });
        std::vector<Kept> next;
        for (const Wider& one : wider) {
            if (next.size() == most) break;
            if (std::any_of(next.begin(), next.end(), [&](const Kept& other) { return other.far == one.far; })) continue;
            Mask added = one.far & ~kept[one.row].far;
            next.push_back({one.far, kept[one.row].liked + ((stays & added) != 0)});
        }
        if (next.empty()) return {};
        kept.swap(next);
    }
    std::vector<FarSet> out;
    for (const Kept& one : kept) out.push_back({one.far, freedom.after(one.far)});
    return out;
}

void split(const std::vector<Index>& pending, const std::vector<Mask>& found, Mask far, std::vector<Index>& ready,
           std::vector<Index>& left) {
    for (std::size_t k = 0; k < pending.size(); ++k) (found[k] & far ? left : ready).push_back(pending[k]);
}

}  // namespace qx::plan
