// The coordinates of one sweep: what its items call index bits, when its tile is a subspace.

#include "planner/linear/coordinates.hpp"

namespace qx::plan {

namespace {

// A direction above the lowest bits, its parity, and the index bit that tells it from the others.
struct Position {
    Mask column, row;
    int bit;
};

// Returns the directions above the lowest bits; of those with a fresh bit each has one of its own.
std::vector<Position> positions(const std::vector<Oriented>& directions, int low, Mask fresh) {
    Span span(units(low));
    Mask grown[64] = {};
    std::vector<Position> out;
    for (const Oriented& one : directions) {
        if (!span.add(one.direction)) continue;
        Mask high = one.direction & ~below(low);
        each(high & fresh, [&](int bit) { high ^= grown[bit]; });
        each(high & fresh, [&](int bit) { grown[bit] = high; });
        out.push_back({high, one.direction == high ? one.row : 0, -1});
    }
    return out;
}

// Gives each of them an index bit: a mask with a fresh bit is on it, and a single bit on itself.
void put_on_bits(std::vector<Position>& positions, Mask fresh) {
    Span span;
    Mask taken = 0;
    for (Position& one : positions) {
        if (!(one.column & fresh)) span.add(one.column);
        Mask own = one.column & fresh ? one.column & fresh : one.column;
        if (!(one.column & fresh) && own & (own - 1)) continue;
        taken |= own, one.bit = highest(own);
    }
    Mask free = span.pivots() & ~taken;
    for (Position& one : positions)
        if (one.bit < 0) one.bit = lowest(free), free &= free - 1;
}

}  // namespace

Coordinates::Coordinates(const Map& back, const std::vector<Oriented>& directions, int low, Mask fresh, PlanContext& context)
    : context_(context), low_(low), cx_pattern_(context.patterns.of({})), cx_label_(context.labels.of("cx")),
      cx_to_(static_cast<Index>(context.values.size())) {
    context.values.push_back(1), context.values.push_back(0);
    std::fill(home_, home_ + 64, -1);
    std::vector<Position> found = positions(directions, low, fresh);
    put_on_bits(found, fresh);
    tile = below(low), load = units(static_cast<int>(back.size()));
    Mask oriented = 0;
    for (Position& one : found) {
        tile |= unit(one.bit);
        load[at(one.bit)] = one.column;
        if (fresh >> one.bit & 1) one.row = 0;
        if (!one.row) continue;
        oriented |= unit(one.bit);
        one.row = pulled_back(back, one.row);
    }
    // To a column that orients no pairs, directions are added such that the parities of other positions vanish in it.
    for (std::size_t bit = at(low); bit < load.size(); ++bit) {
        if ((fresh | oriented) >> bit & 1) continue;
        for (const Position& one : found)
            if (one.row && is_odd(load[bit] & one.row)) load[bit] ^= one.column;
    }
    zero_ = fresh & ~tile;
    for (Mask column : load) columns_.push_back(image(back, column));
    inverse_ = inverse(columns_);
}

void Coordinates::place(const FramedWork& work, const Framed& framed) {
    const Piece& piece = framed.piece;
    std::vector<int> bits = single(work.directions(framed), piece.num_mixed, work.bits(framed));
    for (std::size_t k = 0; k < bits.size(); ++k)
        each(seen(work.rows(framed)[k]) & ~unit(bits[k]), [&](int other) { cx(other, bits[k]); });
    Vectors reads;
    for (int k = 0; k < piece.num_reads; ++k) reads.push_back(seen(work.reads(framed)[k]));
    std::vector<OnParity> conditions;
    for (int k = 0; k < framed.num_conditions; ++k)
        conditions.push_back({seen(work.conditions(framed)[k]), (framed.values >> k & 1) != 0});
    std::sort(conditions.begin(), conditions.end());
    conditions.erase(std::unique(conditions.begin(), conditions.end()), conditions.end());
    for (std::size_t k = 1; k < conditions.size(); ++k)
        if (conditions[k].parity == conditions[k - 1].parity) return;  // two that were one contradict each other
    write(on_positions(framed, bits, reads, conditions, context_));
}

Map Coordinates::arrive(const Map& after, bool in_vectors) {
    Vectors wanted = inverse(after);
    std::vector<int> lanes = single(wanted.data(), low_, nullptr);
    Mask taken = zero_;
    for (int lane : lanes) taken |= unit(lane);
    for (int bit = 0; bit < static_cast<int>(after.size()); ++bit)
        if (in_vectors && !(taken >> bit & 1))
            each(image(after, columns_[at(bit)]) & below(low_), [&](int lane) { cx(bit, lanes[at(lane)]); });
    Map out;
    for (std::size_t bit = 0; bit < after.size(); ++bit)
        out.push_back(zero_ >> bit & 1 ? Mask{1} << bit : image(after, columns_[bit]));
    return out;
}

// Returns positions of their own for some directions, after CX that make them so.
//
// names: the bits of the work whose directions they are, or null. Each bit keeps its position as long as it can: then a CX
// of the circuit between two bits of a tile is one CX on positions, and both are as they were before.
std::vector<int> Coordinates::single(const Mask* directions, int count, const Mask* names) {
    std::vector<int> bits;
    Mask taken = 0;
    for (int k = 0; k < count; ++k) {
        Mask found = image(inverse_, directions[k]);
        int name = names ? static_cast<int>(names[k]) : -1;
        int own = own_position(found, name, taken);
        if (names) home_[name] = own;
        each(found & ~unit(own), [&](int bit) { cx(own, bit); });
        bits.push_back(own);
        taken |= unit(own);
    }
    return bits;
}

int Coordinates::own_position(Mask found, int name, Mask taken) const {
    int own = name < 0 ? -1 : home_[name];
    if (own >= 0 && found & ~taken & unit(own)) return own;
    Mask homes = 0;
    for (int home : home_)
        if (home >= 0) homes |= unit(home);
    Mask free = found & ~taken;
    return highest(free & ~homes ? free & ~homes : free);
}

void Coordinates::cx(int control, int target) {
    columns_[at(control)] ^= columns_[at(target)];
    for (Mask& column : inverse_) column ^= (column >> control & 1) << target;
    Piece made;
    made.kind = Kind::permute, made.pattern = cx_pattern_, made.label = cx_label_, made.to = cx_to_;
    made.when = {unit(control), unit(control)};
    context_.put(made, &target, 1, nullptr, 0);
    write(made);
}

void Coordinates::write(Piece piece) {
    piece.order = static_cast<Index>(work.size());
    work.push_back(piece);
}

}  // namespace qx::plan
