// What two H on a bit and known phases between them are: an X under conditions, and phases of other bits.

#include "planner/rewrite/controls/controls.hpp"

namespace qx::plan {

// Makes an H that comes next, the one before it on its bit and what is between an X; returns whether it did.
bool Controls::takes(const Piece& piece) {
    Turned last, first;
    if (!eighths_.turned(piece, last)) return false;
    int bit = context_.bit(piece, 0);
    if (!find(bit, first)) return false;
    shift(bit);
    Flips flips(bit, first.alpha);
    auto each_phase = [&](auto act) {
        for (const Between& at : between_)
            if (kept_.at(at.position).kind == Kind::diagonal) act(kept_.at(at.position), at.shift);
    };
    each_phase([&](const Piece& phase, const Shift& before) { flips.show(phase, before, context_); });
    flips.show(last.beta, shift_);
    if (!flips.fits()) return false;
    each_phase([&](const Piece& phase, const Shift& before) { flips.add(phase, before, context_); });
    flips.add(last.beta, shift_);
    if (!flips.found()) return false;
    Index position = place();
    if (position == none) return false;

    for (const Between& at : between_) leave_behind(at, bit, piece);
    Piece made;
    if (!xs_.empty() && last.beta) {
        int at_0 = shift_.inverted ? last.beta : 0, at_1 = shift_.mask ? last.beta - at_0 : at_0;
        if (eighths_.phases_of(piece, shift_.mask, at_0, at_1, made)) kept_.put(made, xs_.back() + 1);
    }
    if (flips.x(piece.label, context_, made)) kept_.put(made, position);
    const Piece before = kept_.at(first_);
    kept_.remove(first_);
    bool left = (first.gamma + last.gamma) % eighths_of_turn;  // else they cancel
    auto beside = [&](const Piece& of, int gamma, int more, Index at) {
        gamma = left ? gamma : 0;
        if (eighths_.phases_of(of, of.mixed.units, gamma, gamma + more, made)) kept_.put(made, at);
    };
    beside(before, first.gamma, first.beta, first_);
    beside(piece, last.gamma, last.alpha, 2 * now_);
    return true;
}

// Finds the H before and what is between, the earliest first; returns whether all of it is known.
bool Controls::find(int bit, Turned& first) {
    const std::vector<Index>& on = kept_.on(bit);
    Shift added;
    between_.clear();
    for (std::size_t k = on.size(), looked = 0; k && looked < thresholds.looked_at; --k, ++looked) {
        Index position = on[k - 1];
        if (position + 2 * window_ < 2 * now_) return false;
        const Piece& before = kept_.at(position);
        if (eighths_.turned(before, first)) {
            first_ = position;
            std::reverse(between_.begin(), between_.end());
            return true;
        }
        if (!eighths_.known(before) && (position & 1 || !adds(before, bit, added))) return false;
        between_.push_back({position, {}, 0});
    }
    return false;
}

// Finds what X have added to the bit before each piece, and which other bits the pieces depend on.
void Controls::shift(int bit) {
    shift_ = {}, xs_.clear();
    for (Between& at : between_) {
        const Piece& piece = kept_.at(at.position);
        Shift added;
        at.shift = shift_;
        if (adds(piece, bit, added)) {
            xs_.push_back(at.position);
            shift_ = {shift_.mask ^ added.mask, shift_.inverted != added.inverted};
        }
        at.needs = (piece.touched & ~unit(bit)) | shift_.mask;
    }
}

// Finds what an X under one condition or none adds to a bit; returns false for another piece.
bool Controls::adds(const Piece& piece, int bit, Shift& shift) const {
    if (piece.kind != Kind::permute || piece.num_mixed != 1 || context_.bit(piece, 0) != bit || count(piece.when.mask) > 1)
        return false;
    shift = {piece.when.mask, !piece.when.value};
    return true;
}

// Returns a free position for the X, before all that were there, where all phases may be, the latest one; or none.
Index Controls::place() const {
    auto fits = [&](Index place) {
        bool free = !kept_.holds(place + 1);
        for (const Between& at : between_)
            free = free && !mixes(at.needs, std::min(at.position, place), std::max(at.position, place));
        return free;
    };
    for (std::size_t k = between_.size(); k--;) {
        const Between& at = between_[k];
        if (at.needs && !(at.position & 1) && (xs_.empty() || at.position < xs_.front()) && fits(at.position))
            return at.position + 1;
    }
    return fits(first_) ? first_ + 1 : none;
}

// Whether a piece between two positions mixes some of these bits.
bool Controls::mixes(Mask bits, Index begin, Index end) const {
    bool found = false;
    each(bits, [&](int bit) {
        const std::vector<Index>& on = kept_.on(bit);
        for (auto at = std::upper_bound(on.begin(), on.end(), begin); at != on.end() && *at < end; ++at)
            found = found || kept_.at(*at).mixed.meets({unit(bit)});
    });
    return found;
}

// Takes a known phase away with the next one that undoes it, if nothing between mixes its bits.
void Controls::settle(Index position) {
    if (!kept_.holds(position)) return;
    const Piece& first = kept_.at(position);
    if (!first.touched || !eighths_.known(first)) return;
    const std::vector<Index>& on = kept_.on(lowest(first.touched));
    auto begin = std::upper_bound(on.begin(), on.end(), position);
    for (auto at = begin; at != on.end() && at - begin < thresholds.looked_at; ++at) {
        const Piece& then = kept_.at(*at);
        if (then.mixed.meets({first.touched})) return;
        if (!eighths_.undoes(then, first)) continue;
        Index other = *at;
        if (mixes(first.touched, position, other)) return;
        kept_.remove(position);
        kept_.remove(other);
        return;
    }
}

// Leaves of a piece that was between two H what is behind the X: of an X a Z, of phases those where the bit was 0.
void Controls::leave_behind(const Between& at, int bit, const Piece& last) {
    const Piece piece = kept_.at(at.position);
    kept_.remove(at.position);
    Piece made;
    if (piece.kind == Kind::diagonal) {
        if (eighths_.in_place_of(piece, bit, at.shift, made)) kept_.put(made, at.position);
        return;
    }
    When when{piece.when.mask | unit(bit), piece.when.value | unit(bit)};
    kept_.put(eighths_.z(last, when, piece.label), at.position);
}

}  // namespace qx::plan
