// Which work runs in which stage, where what is far may be any parity.

#include "planner/stages/parities/far_parities.hpp"

#include <map>

#include "base/sorting.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

constexpr std::size_t width = 6;  // how many paths are followed at a time, and how many sets are tried for each next stage

// Returns what is left of a parity with sums of others taken away, each of which was reduced by those before.
Mask reduced(Mask parity, const Vectors& basis) {
    for (Mask row : basis) parity = std::min(parity, parity ^ row);
    return parity;
}

bool is_in(Mask parity, const Vectors& some) { return std::find(some.begin(), some.end(), parity) != some.end(); }

// What some pieces wait for, and their weight.
struct Weighed {
    Candidates waits;
    Int weight;
};

}  // namespace

Numbers Candidates::numbers() const {
    Numbers out;
    for (std::size_t k = 0; k < words; ++k)
        each(bits[k], [&](int bit) { out.push_back(static_cast<Index>(64 * k + static_cast<std::size_t>(bit))); });
    return out;
}

bool follows(const Vectors& before, const Vectors& far) {
    Vectors basis, different = before;
    for (Mask parity : far)
        if (!is_in(parity, before)) different.push_back(parity);
    for (Mask parity : different) {
        Mask rest = reduced(parity, basis);
        if (!rest) return false;
        basis.push_back(rest);
    }
    return true;
}

Vectors candidates_of(const std::vector<Piece>& work, const Frame& end, const PlanContext& context) {
    Frame frame(static_cast<int>(end.parities.size()));
    Vectors out;
    std::map<Mask, bool> known;
    auto add = [&](Mask parity) {
        if (known.try_emplace(parity, true).second) out.push_back(parity);
    };
    for (Mask parity : frame.parities) add(parity);
    for (Mask parity : end.parities) add(parity);
    const std::size_t fixed = out.size();
    for (const Piece& piece : work)
        if (changes_frame(piece, context) && piece.when.mask) {
            int target = context.bit(piece, 0);
            frame.cx(highest(piece.when.mask), target, piece.when.value != 0);
            if (out.size() - fixed < thresholds.parity_candidates) add(frame.parities[at(target)]);
        }
    return out;
}

FarParities::FarParities(const FramedWork& work, const Vectors& candidates, int size, bool is_new, int low,
                         const Vectors& first, bool forced, bool named)
    : all_(candidates), ends_(work.frame.parities), size_(static_cast<std::size_t>(size)), new_(is_new), forced_(forced),
      named_(named), before_(work.size()) {
    Order order(work);
    std::map<Mask, Candidates> changed;  // by a direction
    for (std::size_t k = 0; k < all_.size(); ++k) every_.add(k);
    Path path{{}, {}, 0};
    for (std::size_t k = 0; k < work.size(); ++k) {
        Index number = static_cast<Index>(k);
        for (const Index* other = order.begin(number); other != order.end(number); ++other)
            if (new_) before_[*other].push_back(number);
            else before_[k].push_back(*other);
        Candidates own;
        for (int j = 0; j < work[k].piece.num_mixed; ++j) {
            auto [known, is_first] = changed.try_emplace(work.directions(work[k])[j]);
            if (is_first)
                for (std::size_t column = 0; column < all_.size(); ++column)
                    if (is_odd(all_[column] & known->first)) known->second.add(column);
            own |= known->second;
        }
        own_.push_back(own);
        weights_.push_back(100 * work[k].piece.weight());
        path.weight += weights_.back();
        path.pending.push_back(number);
    }
    if (new_) std::reverse(path.pending.begin(), path.pending.end());
    Candidates ends = those_of(Vectors(ends_.begin() + low, ends_.end()));
    begin_ = new_ ? ends : those_of(first), last_ = new_ ? every_ : ends;
    paths_.push_back(std::move(path));
}

Candidates FarParities::those_of(const Vectors& parities) const {
    Candidates out;
    for (std::size_t column = 0; column < all_.size(); ++column)
        if (is_in(all_[column], parities)) out.add(column);
    return out;
}

bool FarParities::advance() {
    std::vector<Path> found;
    for (const Path& path : paths_) further(path, !begun_, found);
    begun_ = true;
    for (Path& path : found)
        if (path.pending.empty() && those_of(path.stages.back().far).within(last_) && !(named_ && collides(path))) {
            stages = std::move(path.stages);
            if (new_) std::reverse(stages.begin(), stages.end());
            return true;
        }
    sort_stably(found, [](const Path& a, const Path& b) { return a.weight < b.weight; });
    if (found.size() > width) found.erase(found.begin() + width, found.end());
    paths_.swap(found);
    return false;
}

// Whether bits that are far in the end cannot be on places of their own, since others are there.
bool FarParities::collides(const Path& path) const {
    if (path.stages.size() > 2) return false;
    const Vectors& before = path.stages[0].far;
    for (Mask parity : path.stages.back().far) {
        Mask name = unit(static_cast<int>(std::find(ends_.begin(), ends_.end(), parity) - ends_.begin()));
        if (is_in(parity, before) ? parity != name : is_in(name, before)) return true;
    }
    return false;
}

// Appends the continuations of a path by a stage, but for those that others have found.
void FarParities::further(const Path& path, bool is_first, std::vector<Path>& out) const {
    std::vector<Candidates> waits = blocked(path.pending);
    std::vector<Numbers> chosen;
    auto choose = [&](Numbers columns) {
        if (std::find(chosen.begin(), chosen.end(), columns) == chosen.end()) chosen.push_back(std::move(columns));
    };
    auto among = [&](const Candidates& some) {
        if (is_first && forced_) return choose(some.numbers());
        if (!path.pending.empty()) {
            std::vector<Numbers> found;
            sets(path, waits, some, found);
            for (Numbers& columns : found) choose(std::move(columns));
        } else {
            Numbers columns = some.numbers();
            columns.resize(std::min(columns.size(), size_));
            choose(std::move(columns));
        }
    };
    among(is_first ? begin_ : every_);
    if (!is_first && !(last_ == every_)) among(last_);
    for (const Numbers& columns : chosen) {
        Vectors far;
        Candidates set;
        for (Index column : columns) far.push_back(all_[column]), set.add(column);
        if (!path.stages.empty() && !follows(path.stages.back().far, far)) continue;
        Path next{{}, path.stages, path.weight};
        FarStage stage{{}, std::move(far)};
        for (std::size_t k = 0; k < path.pending.size(); ++k) {
            Index number = path.pending[k];
            if (waits[k].meets(set)) {
                next.pending.push_back(number);
            } else {
                stage.pieces.push_back(number);
                next.weight -= weights_[number];
            }
        }
        sort_ascending(stage.pieces);
        next.stages.push_back(std::move(stage));
        bool known = std::any_of(out.begin(), out.end(), [&](const Path& other) {
            return other.stages.back().far == next.stages.back().far && other.pending == next.pending;
        });
        if (!known) out.push_back(std::move(next));
    }
}

// Returns for each pending piece the candidates that would keep it waiting, by itself or by a piece before it.
std::vector<Candidates> FarParities::blocked(const Numbers& pending) const {
    std::vector<Candidates> out(pending.size());
    std::vector<std::size_t> place(own_.size(), own_.size());
    for (std::size_t k = 0; k < pending.size(); ++k) {
        out[k] = own_[pending[k]];
        for (Index other : before_[pending[k]])
            if (place[other] < own_.size()) out[k] |= out[place[other]];
        place[pending[k]] = k;
    }
    return out;
}

// Appends the few sets of candidates that let most work run; each lets some work run.
void FarParities::sets(const Path& path, const std::vector<Candidates>& blocked, const Candidates& among,
                       std::vector<Numbers>& out) const {
    std::map<Candidates, std::size_t> known;
    std::vector<Weighed> reasons;
    for (std::size_t k = 0; k < blocked.size(); ++k) {
        auto [at, is_new] = known.try_emplace(blocked[k], reasons.size());
        if (is_new) reasons.push_back({blocked[k], 0});
        reasons[at->second].weight += weights_[path.pending[k]];
    }
    const Numbers columns = among.numbers();
    const Candidates stays = path.stages.empty() ? Candidates() : those_of(path.stages.back().far);
    struct Wider {
        Int value;
        std::size_t row;
        Index column;
    };
    std::vector<Set> kept{{{}, {}, 0}};
    for (std::size_t k = 0; k < size_; ++k) {
        std::vector<Wider> wider;
        for (std::size_t row = 0; row < kept.size(); ++row) {
            Candidates far;
            for (Index column : kept[row].columns) far.add(column);
            Int all = 0,
                waiting[Candidates::most] = {};  // the weight of what runs now, and of what waits for each candidate
            for (const Weighed& one : reasons) {
                if (one.waits.meets(far)) continue;
                all += one.weight;
                for (std::size_t word = 0; word < Candidates::words; ++word)
                    each(one.waits.bits[word] & among.bits[word],
                         [&](int bit) { waiting[64 * word + static_cast<std::size_t>(bit)] += one.weight; });
            }
            for (Index column : columns)
                if (Int runs = all - waiting[column]; runs >= 1)
                    wider.push_back({runs + kept[row].liked + stays.has(column), row, column});
        }
        sort_stably(wider, [](const Wider& a, const Wider& b) { return a.value > b.value; });
        std::vector<Set> next;
        for (const Wider& one : wider) {
            if (next.size() == width) break;
            Mask rest = reduced(all_[one.column], kept[one.row].basis);
            if (!rest) continue;
            Set set = kept[one.row];
            set.columns.insert(std::lower_bound(set.columns.begin(), set.columns.end(), one.column), one.column);
            if (std::any_of(next.begin(), next.end(), [&](const Set& other) { return other.columns == set.columns; }))
                continue;
            set.basis.push_back(rest), set.liked += stays.has(one.column);
            next.push_back(std::move(set));
        }
        if (next.empty()) return;
        kept.swap(next);
    }
    for (Set& set : kept) out.push_back(std::move(set.columns));
}

}  // namespace qx::plan
