// Pairs of CX around phases disappear: the phases read parities instead.

#include "planner/rewrite/cancel.hpp"

namespace qx::plan {

namespace {

constexpr Index one_at = 1;  // the place of the number 1

// Returns whether a CX may move to before a piece: it commutes, or is a phase that then reads other parities.
bool passes(const Piece& piece, int control, int target) {
    if (piece.mixed.meets({unit(control)})) return false;
    if (piece.mixed.meets({unit(target)})) return piece.kind == Kind::permute && piece.num_mixed == 1;
    return piece.kind == Kind::diagonal || !(piece.touched & unit(target));
}

}  // namespace

bool Canceller::is_cx(const Piece& piece, CX& out) const {
    if (piece.kind != Kind::permute || piece.num_mixed != 1 || count(piece.when.mask) != 1) return false;
    out = {lowest(piece.when.mask), context_.bit(piece, 0), piece.when.value != 0};
    return true;
}

// Joins a CX that comes next with its equal or opposite, if nothing stands between; returns whether it did.
bool Canceller::takes(const Piece& piece) {
    CX cx, other;
    if (!is_cx(piece, cx)) return false;
    const std::vector<Index>&first = kept_.on(cx.control), &second = kept_.on(cx.target);
    std::size_t i = first.size(), j = second.size();
    passed_.clear();
    for (int looked = 0; looked < thresholds.looked_at && (i || j); ++looked) {
        Index position = std::max(i ? first[i - 1] : 0, j ? second[j - 1] : 0);
        if (i && first[i - 1] == position) --i;
        if (j && second[j - 1] == position) --j;
        if (!in_reach(position)) return false;
        const Piece& before = kept_.at(position);
        if (is_cx(before, other) && other == cx) {
            pass(cx);
            kept_.remove(position);
            return true;
        }
        if (exchanges_ && cx.value && is_cx(before, other) && other == CX{cx.target, cx.control, true}) {
            pass(cx);
            exchange(cx);
            kept_.at(position) = piece;
            return true;
        }
        if (!passes(before, cx.control, cx.target)) return false;
        passed_.push_back(position);
    }
    return false;
}

// Changes the phases that a CX has passed.
void Canceller::pass(const CX& cx) {
    for (Index position : passed_) {
        const Piece& piece = kept_.at(position);
        if (piece.kind == Kind::diagonal && piece.touched & unit(cx.target)) change(position, through(piece, cx));
    }
}

// Exchanges the bits of a CX in the pieces that it has passed, and in all that follow.
void Canceller::exchange(const CX& cx) {
    std::vector<int> swapped(64);
    for (int bit = 0; bit < 64; ++bit) swapped[bit] = bit == cx.control ? cx.target : bit == cx.target ? cx.control : bit;
    for (Index position : passed_) {
        Piece piece = kept_.at(position);
        move(piece, swapped);
        change(position, piece);
    }
    for (int& bit : to_) bit = swapped[bit];
    exchanged_ = true;
}

void Canceller::change(Index position, const Piece& piece) {
    kept_.remove(position);
    kept_.put(piece, position);
}

// Puts a piece on other bits: bit b becomes bit to[b].
void Canceller::move(Piece& piece, const std::vector<int>& to) {
    auto moved = [&](Mask mask) {
        Mask out = 0;
        each(mask, [&](int bit) { out |= unit(to[bit]); });
        return out;
    };
    Mask* words = context_.words.data() + piece.words;
    for (int k = 0; k < 2 * piece.num_mixed + piece.num_reads; ++k) words[k] = moved(words[k]);
    piece.mixed.units = moved(piece.mixed.units);
    piece.touched = moved(piece.touched);
    piece.when = {moved(piece.when.mask), moved(piece.when.value)};
}

// Returns a phase as it is between two equal CX: where it read the target, it reads target + control (+ 1).
Piece Canceller::through(const Piece& phase, const CX& cx) {
    Mask control = unit(cx.control), target = unit(cx.target), read_flip = 0;
    std::vector<Mask> reads(context_.reads(phase), context_.reads(phase) + phase.num_reads);
    bool known = phase.when.mask & control;
    bool flips = known ? ((phase.when.value & control) != 0) == cx.value : !cx.value;
    for (std::size_t k = 0; k < reads.size(); ++k) {
        if (!(reads[k] & target)) continue;
        if (!known) reads[k] ^= control;
        read_flip |= static_cast<Mask>(flips) << k;
    }
    Piece out = phase;
    std::vector<Index> places;
    std::vector<char> classes;
    Index length = static_cast<Index>(context_.patterns[phase.pattern].size());
    for (Index k = 0; k < length; ++k) {
        Index entry = k ^ static_cast<Index>(read_flip);
        places.push_back(context_.place(phase.source, entry));
        classes.push_back(context_.patterns[phase.pattern][entry]);
    }
    bool changed = read_flip;
    if (phase.when.mask & target) {
        bool wanted = ((phase.when.value & target) != 0) != flips;
        out.when.value &= ~target;
        if (known) {
            out.when.value |= wanted ? target : 0;
        } else {
            out.when.mask &= ~target;
            reads.push_back(target | control);
            places.insert(wanted ? places.begin() : places.end(), length, one_at);
            classes.insert(wanted ? classes.begin() : classes.end(), length, one);
            changed = true;
        }
    }
    if (changed) {
        out.source = {0, static_cast<Index>(places.size()), static_cast<Index>(context_.places.size())};
        context_.places.insert(context_.places.end(), places.begin(), places.end());
        out.pattern = context_.patterns.of({classes.data(), classes.size()});
    }
    context_.put(out, nullptr, 0, reads.data(), static_cast<int>(reads.size()));
    return out;
}

}  // namespace qx::plan
