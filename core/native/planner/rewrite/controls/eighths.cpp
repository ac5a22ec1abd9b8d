// Phases that are known to be eighth turns, and what a bit makes of them.

#include "planner/rewrite/controls/eighths.hpp"

#include <algorithm>

namespace qx::plan {

namespace {

constexpr Index one_at = 1;  // the place of the number 1
constexpr int turn = eighths_of_turn;
constexpr char phases[] = {one,         eighth, unit_imag, three_eighths, minus_one, minus_three_eighths, minus_unit_imag,
                           minus_eighth};

char phase(int turns) { return phases[turns & (turn - 1)]; }

// The phase of an entry of size sqrt(1/2) in eighth turns; -1 for another number.
int root_eighths(char entry) {
    constexpr char roots[] = {root_half, imag_root_half, minus_root_half, minus_imag_root_half};
    for (int k = 0; k < 4; ++k)
        if (roots[k] == entry) return 2 * k;
    return -1;
}

}  // namespace

int eighths(char entry) {
    for (int k = 0; k < turn; ++k)
        if (phases[k] == entry) return k;
    return -1;
}

bool Eighths::turned(const Piece& piece, Turned& out) const {
    if (piece.kind != Kind::mix || piece.num_mixed != 1 || piece.num_reads || piece.when.mask || !piece.unitary)
        return false;
    int entry[4];
    for (std::size_t k = 0; k < 4; ++k) {
        entry[k] = root_eighths(context_.patterns[piece.pattern][k]);
        if (entry[k] < 0) return false;
    }
    out = {(entry[2] - entry[0]) & (turn - 1), (entry[1] - entry[0]) & (turn - 1), entry[0]};
    // Of other matrices, which no gate has, `number` would not find all phases: products of two entries of iH are real.
    if (out.gamma && (out.gamma | out.alpha | out.beta) % (turn / 2)) return false;
    return (entry[0] + out.alpha + out.beta + turn / 2 - entry[3]) % turn == 0;
}

bool Eighths::known(const Piece& piece) const {
    Interned::Bytes of = context_.patterns[piece.pattern];
    return piece.kind == Kind::diagonal && std::all_of(of.begin(), of.end(), [](char entry) { return eighths(entry) >= 0; });
}

bool Eighths::in_place_of(const Piece& phase, int bit, const Shift& shift, Piece& out) {
    const Mask at = unit(bit);
    bool under = phase.when.mask & at, wanted = phase.when.value & at;
    if (under && !shift.mask && shift.inverted != wanted) return false;
    Phases to{{phase.when.mask & ~at, phase.when.value & ~at}, {}, {}, {}};
    std::vector<Index> picks{0};  // for each value of the reads that are kept, which entry it takes
    for (int k = 0; k < phase.num_reads; ++k) {
        Mask read = context_.reads(phase)[k];
        Index flip = read & at && shift.inverted ? Index{1} << k : 0, other = flip ^ Index{1} << k;
        if (read & at) read ^= at ^ shift.mask;
        std::size_t size = picks.size();
        if (read) {
            to.reads.push_back(read);
            for (std::size_t x = 0; x < size; ++x) picks.push_back(picks[x] | other);
        }
        for (std::size_t x = 0; x < size; ++x) picks[x] |= flip;
    }
    for (Index x : picks) {
        to.places.push_back(context_.place(phase.source, x));
        to.classes.push_back(context_.patterns[phase.pattern][x]);
    }
    if (under && shift.mask) {
        bool first = shift.inverted == wanted;
        std::size_t size = picks.size();
        to.reads.push_back(shift.mask);
        to.places.insert(first ? to.places.end() : to.places.begin(), size, one_at);
        to.classes.insert(first ? to.classes.end() : to.classes.begin(), size, one);
    }
    return made(phase, to, out);
}

bool Eighths::undoes(const Piece& then, const Piece& phase) const {
    bool same =
        then.when.mask == phase.when.mask && then.when.value == phase.when.value && then.num_reads == phase.num_reads;
    if (!same || !std::equal(context_.reads(phase), context_.reads(phase) + phase.num_reads, context_.reads(then)) ||
        !known(then))
        return false;
    Interned::Bytes one_of = context_.patterns[phase.pattern], other_of = context_.patterns[then.pattern];
    for (std::size_t k = 0; k < one_of.size(); ++k)
        if ((eighths(one_of[k]) + eighths(other_of[k])) % turn) return false;
    return true;
}

bool Eighths::phases_of(const Piece& of, Mask parity, int at_0, int at_1, Piece& out) {
    Phases to{{}, {parity}, {}, {}};
    for (int turns : {at_0, at_1}) {
        to.places.push_back(number(of, turns & (turn - 1)));
        to.classes.push_back(phase(turns));
    }
    Piece like;
    like.kind = Kind::diagonal, like.label = of.label, like.level = 1;
    return made(like, to, out);
}

Piece Eighths::z(const Piece& of, When when, Index label) {
    Phases to{when, {}, {number(of, turn / 2)}, {minus_one}};
    Piece like, out;
    like.kind = Kind::diagonal, like.label = label, like.level = 1;
    made(like, to, out);
    return out;
}

// Returns the place of a phase: twice the product of two entries of a matrix that is `turned`.
Index Eighths::number(const Piece& of, int turns) {
    Interned::Bytes entries = context_.patterns[of.pattern];
    for (Index k = 0; turns && k < 16; ++k)
        if ((root_eighths(entries[k / 4]) + root_eighths(entries[k % 4]) - turns) % turn == 0) {
            const Index one_of = 2 + k / 4, other_of = 2 + k % 4;
            const Index left[] = {one_of, one_of, one_of, one_of}, right[] = {other_of, other_of};
            Factor by = context_.factor(of.source, left, 4), with = context_.factor(of.source, right, 2);
            return program_.product({0, 1 + of.level, 1, 2, 1}, by, with).first;
        }
    return one_at;
}

// Makes a piece of phases, in the form in which they are compared: of a bit under a condition if they can be.
bool Eighths::made(const Piece& like, Phases& of, Piece& out) {
    auto is = [&](char entry) { return entry == of.classes.front(); };
    bool alike = std::all_of(of.classes.begin(), of.classes.end(), is);
    if (alike && is(one)) return false;
    if (alike && !of.when.mask) {
        of.reads.clear(), of.places.resize(1), of.classes.resize(1);
    } else if (of.reads.size() == 1 && count(of.reads[0]) == 1 && !of.when.mask && (is(one) || of.classes[1] == one)) {
        int other = is(one) ? 0 : 1;  // the value at which the phase is 1
        of.when = {of.reads[0], other ? 0 : of.reads[0]};
        of.reads.clear(), of.places.erase(of.places.begin() + other), of.classes.erase(of.classes.begin() + other);
    }
    out = like;
    out.when = of.when;
    out.pattern = context_.patterns.of({of.classes.data(), of.classes.size()});
    out.source = {0, static_cast<Index>(of.places.size()), static_cast<Index>(context_.places.size())};
    context_.places.insert(context_.places.end(), of.places.begin(), of.places.end());
    context_.put(out, nullptr, 0, of.reads.data(), static_cast<int>(of.reads.size()));
    return true;
}

}  // namespace qx::plan
