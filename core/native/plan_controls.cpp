// What two H on a bit and known phases between them are: an X under conditions, and phases of other bits.

#include "plan_controls.hpp"

namespace qx::plan {

namespace {

constexpr Index zero_at = 0, one_at = 1;  // the places of the numbers 0 and 1
constexpr int turn = 8;                   // in eighths
constexpr char phases[] = {one, eighth, unit_imag, three_eighths, minus_one, minus_three_eighths, minus_unit_imag, minus_eighth};

// A phase that is known in eighth turns; -1 for another number.
int eighths(char entry) {
    for (int k = 0; k < turn; ++k)
        if (phases[k] == entry) return k;
    return -1;
}

// The phase of an entry of size sqrt(1/2) in eighth turns; -1 for another number.
int root_eighths(char entry) {
    constexpr char roots[] = {root_half, imag_root_half, minus_root_half, minus_imag_root_half};
    for (int k = 0; k < 4; ++k)
        if (roots[k] == entry) return 2 * k;
    return -1;
}

bool is_one_bit(Mask mask) { return !(mask & (mask - 1)); }

}  // namespace

bool Controls::turn_of(const Piece& piece, Turn& out) const {
    if (piece.kind != Kind::mix || piece.num_mixed != 1 || piece.num_reads || piece.when.mask || !piece.unitary) return false;
    int entry[4];
    for (std::size_t k = 0; k < 4; ++k) {
        entry[k] = root_eighths(book_.patterns[piece.pattern][k]);
        if (entry[k] < 0) return false;
    }
    out = {(entry[2] - entry[0]) & (turn - 1), (entry[1] - entry[0]) & (turn - 1), entry[0]};
    return (entry[0] + out.alpha + out.beta + turn / 2 - entry[3]) % turn == 0;
}

bool Controls::is_known(const Piece& piece) const {
    if (piece.kind != Kind::diagonal) return false;
    for (char entry : book_.patterns[piece.pattern])
        if (eighths(entry) < 0) return false;
    return true;
}

// Makes an H that comes next, the one before it on its bit and the phases between an X; returns whether it did.
bool Controls::takes(const Piece& piece) {
    Turn turned, first;
    if (!turn_of(piece, turned)) return false;
    int bit = book_.bit(piece, 0);
    Flips flips;
    if (!find(bit, first) || !flips_of(bit, turned.beta + first.alpha, flips)) return false;
    Index place = flips.parities.empty() ? first_ + 1 : place_of(bit);
    if (place == none) return false;
    const Piece before = kept_.at(first_);
    bool both = (first.gamma + turned.gamma) % turn;  // else they cancel
    kept_.remove(first_);
    put_phase(before, both ? first.gamma : 0, first.beta, first_);
    for (Index position : between_) restrict(position, bit);
    put_x(flips, bit, piece.label, place);
    put_phase(piece, both ? turned.gamma : 0, turned.alpha, 2 * now_);
    return true;
}

// Finds the H before and the known phases since then, the earliest first; returns whether there is nothing else.
bool Controls::find(int bit, Turn& first) {
    const std::vector<Index>& on = kept_.on(bit);
    between_.clear();
    for (std::size_t k = on.size(), looked = 0; k && looked < looked_at; --k, ++looked) {
        Index position = on[k - 1];
        if (position + 2 * window_ < 2 * now_) return false;
        const Piece& before = kept_.at(position);
        if (turn_of(before, first)) {
            first_ = position;
            std::reverse(between_.begin(), between_.end());
            return true;
        }
        if (!is_known(before)) return false;
        between_.push_back(position);
    }
    return false;
}

// Finds for which values of others the phases between two H turn a bit by pi; returns false if some turn it by something
// else than 0 and pi. more: what else turns it, in eighth turns.
bool Controls::flips_of(int bit, int more, Flips& out) const {
    Mask rest = ~unit(bit);
    Span span;
    for (Index position : between_) {
        const Piece& piece = kept_.at(position);
        for (int k = 0; k < piece.num_reads; ++k) span.add(book_.reads(piece)[k] & rest);
        each(piece.when.mask & rest, [&](int other) { span.add(unit(other)); });
    }
    if (span.size() > most_parities) return false;
    unsigned values = 1u << span.size();
    int turns[1 << most_parities];
    std::fill(turns, turns + values, more);
    for (Index position : between_) {
        const Piece& piece = kept_.at(position);
        Interned::Bytes of = book_.patterns[piece.pattern];
        for (Mask x = 0; x < values; ++x)
            for (Mask value = 0; value < 2; ++value) {
                auto parity = [&](Mask mask) {
                    return (static_cast<Mask>(count(span.reduced(mask & rest).made & x)) ^ (mask >> bit & value)) & 1;
                };
                bool holds = true;
                each(piece.when.mask, [&](int other) {
                    holds = holds && parity(unit(other)) == (piece.when.value >> other & 1);
                });
                if (!holds) continue;
                std::size_t entry = 0;
                for (int k = 0; k < piece.num_reads; ++k) entry |= parity(book_.reads(piece)[k]) << k;
                turns[x] += value ? eighths(of[entry]) : -eighths(of[entry]);
            }
    }
    out.parities = span.vectors;
    for (Mask x = 0; x < values; ++x) {
        if (turns[x] % (turn / 2)) return false;
        out.flips |= (turns[x] & turn / 2 ? 1u : 0u) << x;
    }
    return true;
}

// Returns a position where all phases may be that read other bits, with room behind it, the latest one; or none.
Index Controls::place_of(int bit) const {
    Mask rest = ~unit(bit);
    for (std::size_t k = between_.size(); k--;) {
        Index place = between_[k];
        if (!(kept_.at(place).touched & rest) || kept_.holds(place + 1)) continue;
        bool fits = true;
        for (Index position : between_)
            fits = fits && !mixes(kept_.at(position).touched & rest, std::min(position, place), std::max(position, place));
        if (fits) return place + 1;
    }
    return none;
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

// Joins a known phase with the next one that reads the same, if nothing between mixes its bits.
void Controls::settle(Index position) {
    if (!kept_.holds(position)) return;
    const Piece first = kept_.at(position);
    if (!first.touched || !is_known(first)) return;
    const std::vector<Index>& on = kept_.on(lowest(first.touched));
    auto begin = std::upper_bound(on.begin(), on.end(), position);
    Index other = none;
    for (auto at = begin; at != on.end() && at - begin < looked_at; ++at) {
        const Piece& then = kept_.at(*at);
        if (then.mixed.meets({first.touched})) return;
        bool same = then.when.mask == first.when.mask && then.when.value == first.when.value &&
                    then.num_reads == first.num_reads && is_known(then) &&
                    std::equal(book_.reads(first), book_.reads(first) + first.num_reads, book_.reads(then));
        if (!same) continue;
        other = *at;
        break;
    }
    if (other == none || mixes(first.touched, position, other)) return;
    const Piece then = kept_.at(other);
    kept_.remove(position);
    kept_.remove(other);
    Interned::Bytes one_of = book_.patterns[first.pattern], other_of = book_.patterns[then.pattern];
    Phases made{then.when, {book_.reads(then), book_.reads(then) + then.num_reads}, {}, {}};
    bool is_one = true;
    for (std::size_t k = 0; k < one_of.size(); ++k) {
        made.classes.push_back(phases[(eighths(one_of[k]) + eighths(other_of[k])) % turn]);
        is_one = is_one && made.classes.back() == one;
    }
    if (is_one) return;
    Piece out = then;
    out.level = 1 + std::max(first.level, then.level);
    Index size = static_cast<Index>(made.classes.size());
    Places source = program_.product({0, out.level, size, 1, 1}, Book::factor(then.source), Book::factor(first.source));
    for (Index k = 0; k < size; ++k) made.places.push_back(source.first + k);
    simplify(made);
    put(out, made, other);
}

// Puts an X at a position, if anything flips.
bool Controls::put_x(const Flips& flips, int bit, Index label, Index position) {
    if (!flips.flips) return false;
    int size = static_cast<int>(flips.parities.size());
    Mask least = static_cast<Mask>(lowest(flips.flips));
    Span span;
    each(flips.flips, [&](int value) { span.add(static_cast<Mask>(value) ^ least); });
    if (count(flips.flips) != 1 << span.size()) {
        put_x_under(flips.parities, flips.flips, bit, label, position);
        return true;
    }
    Map columns;  // the parities that are 0 for all of the span are those that these make 0
    for (int k = 0; k < size; ++k) {
        Mask column = 0;
        for (std::size_t j = 0; j < span.vectors.size(); ++j) column |= (span.vectors[j] >> k & 1) << j;
        columns.push_back(column);
    }
    Basis basis;
    for (Mask mask : kernel(columns)) basis.add(image(flips.parities, mask));
    Span parities(flips.parities);
    Piece out;
    out.label = label;
    bool plain = true;
    unsigned number = 0;
    int k = 0;
    for (Mask mask : basis) {
        bool value = is_odd(parities.reduced(mask).made & least);
        plain = plain && is_one_bit(mask);
        number |= static_cast<unsigned>(value) << k++;
        out.when.mask |= mask;
        if (value) out.when.value |= mask;
    }
    if (!plain) {
        put_x_under({basis.begin(), basis.end()}, 1u << number, bit, label, position);
        return true;
    }
    constexpr char flip[] = {zero, one, one, zero};
    out.kind = Kind::rename;
    out.pattern = book_.patterns.of({flip, 4});
    out.to = static_cast<Index>(book_.values.size());
    book_.values.insert(book_.values.end(), {1, 0});
    book_.put(out, &bit, 1, nullptr, 0);
    kept_.put(out, position);
    return true;
}

// Puts an X that some values of parities select at a position, as a matrix for each value.
void Controls::put_x_under(const Vectors& parities, unsigned flips, int bit, Index label, Index position) {
    std::vector<char> classes;
    for (int x = 0; x < 1 << parities.size(); ++x)
        for (int entry = 0; entry < 4; ++entry) {
            bool flipped = entry == 1 || entry == 2;
            classes.push_back(flipped == (flips >> x & 1) ? one : zero);
        }
    Piece out;
    out.kind = Kind::mix, out.label = label;
    out.pattern = book_.patterns.of({classes.data(), classes.size()});
    out.source = {0, static_cast<Index>(classes.size()), static_cast<Index>(book_.places.size())};
    for (char entry : classes) book_.places.push_back(entry == one ? one_at : zero_at);
    book_.put(out, &bit, 1, parities.data(), static_cast<int>(parities.size()));
    kept_.put(out, position);
}

// Puts the phases e^{i gamma} of a bit at 0 and e^{i (gamma + more)} at 1, with numbers from a matrix, if they are not 1.
void Controls::put_phase(const Piece& of, int gamma, int more, Index position) {
    Phases made{{}, {of.mixed.units}, {}, {}};
    for (int turns : {gamma, (gamma + more) % turn}) {
        made.places.push_back(turns ? number(of, turns) : one_at);
        made.classes.push_back(phases[turns]);
    }
    if (!simplify(made)) return;
    Piece out;
    out.kind = Kind::diagonal, out.label = of.label, out.level = 1;
    put(out, made, position);
}

// Makes a phase, which is twice the product of two entries of a matrix; returns its place.
Index Controls::number(const Piece& of, int turns) {
    Interned::Bytes entries = book_.patterns[of.pattern];
    for (Index j = 0; j < 4; ++j)
        for (Index k = 0; k < 4; ++k)
            if ((root_eighths(entries[j]) + root_eighths(entries[k]) - turns) % turn == 0) {
                const Index left[] = {2 + j, 2 + j, 2 + j, 2 + j}, right[] = {2 + k, 2 + k};
                Factor by = book_.factor(of.source, left, 4), with = book_.factor(of.source, right, 2);
                return program_.product({0, 1 + of.level, 1, 2, 1}, by, with).first;
            }
    return one_at;  // never: of an H between phases there are such entries
}

// Leaves of a phase what it is where a bit is 0.
void Controls::restrict(Index position, int bit) {
    const Piece piece = kept_.at(position);
    kept_.remove(position);
    if (piece.when.value >> bit & 1) return;
    Phases made{{piece.when.mask & ~unit(bit), piece.when.value}, {}, {}, {}};
    Index gone = 0;
    for (int k = 0; k < piece.num_reads; ++k) {
        Mask read = book_.reads(piece)[k];
        if (read == unit(bit)) gone |= Index{1} << k;
        else made.reads.push_back(read & ~unit(bit));
    }
    Interned::Bytes of = book_.patterns[piece.pattern];
    for (Index k = 0; k < of.size(); ++k)
        if (!(k & gone)) made.places.push_back(book_.place(piece.source, k)), made.classes.push_back(of[k]);
    if (simplify(made)) put(piece, made, position);
}

// Brings phases into the form in which they are compared: of a bit under a condition if they can be. Returns whether they
// are not 1.
bool Controls::simplify(Phases& of) const {
    auto is = [&](char entry) { return entry == of.classes.front(); };
    bool alike = std::all_of(of.classes.begin(), of.classes.end(), is);
    if (alike && is(one)) return false;
    if (alike && !of.when.mask) {
        of.reads.clear(), of.places.resize(1), of.classes.resize(1);
    } else if (of.reads.size() == 1 && is_one_bit(of.reads[0]) && !of.when.mask && is(one)) {
        of.when = {of.reads[0], of.reads[0]};
        of.reads.clear(), of.places.erase(of.places.begin()), of.classes.erase(of.classes.begin());
    }
    return true;
}

// Puts a piece with such phases at a position.
void Controls::put(Piece piece, const Phases& made, Index position) {
    piece.when = made.when;
    piece.pattern = book_.patterns.of({made.classes.data(), made.classes.size()});
    piece.source = {0, static_cast<Index>(made.places.size()), static_cast<Index>(book_.places.size())};
    book_.places.insert(book_.places.end(), made.places.begin(), made.places.end());
    book_.put(piece, nullptr, 0, made.reads.data(), static_cast<int>(made.reads.size()));
    kept_.put(piece, position);
}

}  // namespace qx::plan
