// A piece of work on the positions of a sweep; see coordinates.hpp.

#include "planner/linear/coordinates.hpp"

namespace qx::plan {

namespace {

bool is_sum(const OnParity& condition) { return (condition.parity & (condition.parity - 1)) != 0; }

// The entries of a piece's matrices, one matrix for each value of its reads.
struct Entries {
    std::vector<char> classes;
    std::vector<Index> places;

    void add(char kind, Index place) { classes.push_back(kind), places.push_back(place); }
    void add_unit(Index size) {
        for (Index k = 0; k < size * size; ++k) k % (size + 1) ? add(zero, 0) : add(one, 1);
    }
};

// Returns the values of the reads in the order of the blocks, without those of reads that are 0.
std::vector<Index> blocks_of(const Framed& framed, const Vectors& reads) {
    std::vector<Index> blocks{static_cast<Index>(framed.read_flips)};
    for (std::size_t k = 0; k < reads.size(); ++k)
        for (std::size_t j = 0, size = blocks.size(); reads[k] && j < size; ++j) blocks.push_back(blocks[j] ^ Index{1} << k);
    return blocks;
}

// Returns the matrices of a piece with inverted bits and reads as they are.
Entries entries_of(const Framed& framed, const Vectors& reads, const PlanContext& context) {
    const Piece& piece = framed.piece;
    Index size = static_cast<Index>(piece.size()), flips = static_cast<Index>(framed.flips);
    Entries out;
    for (Index block : blocks_of(framed, reads))
        for (Index row = 0; row < size; ++row)
            for (Index column = 0; column < size; ++column) {
                Index at = (block * size + (row ^ flips)) * size + (column ^ flips);
                if (piece.kind == Kind::permute) {
                    bool moves = context.values[piece.to + (column ^ flips)] == (row ^ flips);
                    out.add(moves ? one : zero, moves);
                } else {
                    out.add(context.patterns[piece.pattern][at], context.place(piece.source, at));
                }
            }
    return out;
}

// Lets matrices apply only where a sum of bits has a value, which becomes one more read.
void add_condition(Entries& entries, bool value, Index size) {
    Entries units;
    for (std::size_t block = 0; block < entries.classes.size() / (size * size); ++block) units.add_unit(size);
    Entries& first = value ? units : entries;
    Entries& second = value ? entries : units;
    first.classes.insert(first.classes.end(), second.classes.begin(), second.classes.end());
    first.places.insert(first.places.end(), second.places.begin(), second.places.end());
    if (value) entries = std::move(units);
}

}  // namespace

Piece on_positions(const Framed& framed, const std::vector<int>& bits, const Vectors& reads,
                   const std::vector<OnParity>& conditions, PlanContext& context) {
    Piece out = framed.piece;
    out.when = {};
    bool sums = false;
    for (const OnParity& one : conditions)
        if (is_sum(one)) sums = true;
        else out.when.mask |= one.parity, out.when.value |= one.value ? one.parity : 0;
    int num_bits = static_cast<int>(bits.size());
    if (out.kind == Kind::permute && !sums) {
        Index to = static_cast<Index>(context.values.size()), flips = static_cast<Index>(framed.flips);
        for (Index x = 0; x < Index{1} << num_bits; ++x)
            context.values.push_back(context.values[out.to + (x ^ flips)] ^ flips);
        out.to = to, out.source = {}, out.work = 0, out.level = 0, out.unitary = true;
        context.put(out, bits.data(), num_bits, nullptr, 0);
        return out;
    }
    Entries entries = entries_of(framed, reads, context);
    Vectors kept;
    for (Mask read : reads)
        if (read) kept.push_back(read);
    for (const OnParity& one : conditions)
        if (is_sum(one)) {
            add_condition(entries, one.value, static_cast<Index>(out.size()));
            kept.push_back(one.parity);
        }
    if (out.kind == Kind::permute) out.kind = Kind::mix;
    out.pattern = context.patterns.of({entries.classes.data(), entries.classes.size()});
    out.source = {0, static_cast<Index>(entries.places.size()), static_cast<Index>(context.places.size())};
    context.places.insert(context.places.end(), entries.places.begin(), entries.places.end());
    context.put(out, bits.data(), num_bits, kept.data(), static_cast<int>(kept.size()));
    return out;
}

}  // namespace qx::plan
