// A piece of work: the data that each step of planning passes to the next.
#pragma once

#include "planner/patterns.hpp"

namespace qx::plan {

// "mix" is dense on near bits, "permute" moves their values; the last three are steps of their own.
enum class Kind : std::uint8_t { mix, diagonal, permute, dense_matrix, basis_permutation, initial_amplitudes };

// Places in the coefficient buffer: `count` in a row from `first` on, or, with a table, those at `table` of
// `PlanContext::places`.
struct Places {
    static constexpr Index none = ~Index{0};
    Index first = 0;
    Index count = 0;
    Index table = none;
};

// The entries of a factor of a product: those of a source as they are (form 0), or as a form picks them. at: the first
// place of the source, or where its table begins. form: 2 * the number of the form, + 1 for a table; or how the entries
// stand at `at` of `PlanContext::listed`: one behind the other, or as rows of a dense block.
struct Factor {
    static constexpr Index rows = ~Index{0}, entries = rows - 1;
    Index at = 0;
    Index form = 0;
};

// A row of a dense block: one of the unit matrix, by its number, or places that stand in a row, by `width` + the first one.
struct BlockRow {
    static constexpr Index width = 16;

    static Index at(Index place) { return width + place; }
    static Index place(Index row, Index column) { return row < width ? row == column : row - width + column; }
};

struct When {
    Mask mask = 0;
    Mask value = 0;
};

// The part of a piece that says when it may run; scans read nothing else.
struct Outline {
    Directions mixed;  // all its directions
    Mask touched = 0;  // all bits that it mixes, reads or is under a condition of
    double work = 0;   // multiply-adds per amplitude
    Kind kind = Kind::mix;

    // How much the piece counts when bits are chosen: diagonals run wherever the work before them runs.
    int weight() const { return kind == Kind::diagonal ? 1 : 10; }
    bool in_a_sweep() const { return kind <= Kind::permute; }
};

// A piece as scans see it, with the numbers of its bits at hand: most pieces touch one bit or two.
struct WorkOutline : Outline {
    // Stands for no bit: what is written for it is never read.
    static constexpr int no_bit = 64, places = 65;

    std::uint8_t touches[2];  // the lowest and the highest bit; equal if there is one
    std::int8_t mixes[2];     // whether it mixes them: -1, as a mask, or 0
    bool plain = false;       // whether these are all, and the piece runs in a sweep
    std::uint16_t joined = 0; // the weight of diagonals that wait for the same and are counted with it

    WorkOutline(const Outline& piece) : Outline(piece) {
        const int bits[] = {touched ? lowest(touched) : no_bit, touched ? highest(touched) : no_bit};
        for (int k = 0; k < 2; ++k) {
            touches[k] = static_cast<std::uint8_t>(bits[k]);
            mixes[k] = bits[k] != no_bit && mixed.units >> bits[k] & 1 ? -1 : 0;
        }
        plain = count(touched) <= 2 && in_a_sweep();
    }

    int joint_weight() const { return weight() + joined; }
};

// One operation on index bits. Its `num_mixed` directions stand at `words` of `PlanContext::words`, then as many parities,
// then the `num_reads` parities that it reads. Gate k flips direction k, and the parity k of the stored index says which of
// the two amplitudes is the 0: both are the mask of one bit as long as layouts only permute bits.
struct Piece : Outline {
    static constexpr Index none = ~Index{0};

    When when;             // where it applies
    std::uint32_t words = 0;
    Index pattern = 0;     // classes of the entries [2^reads, 2^mixed, 2^mixed]
    Index known = none;    // the pattern with the numbers that are known, where fusing has put classes for them
    Index trial = none;    // a product at trial numbers, at `trial` of `Fuser::trials`
    Index label = 0;
    Index order = 0;       // position in the program
    Places source;         // of each entry of the pattern
    Index to = 0;          // of permutations: where each value moves to, at `to` of `PlanContext::values`
    std::uint32_t level = 0;
    Mask held = 0;         // of initial amplitudes: the value that all its bits hold before
    std::uint8_t num_mixed = 0;
    std::uint8_t num_reads = 0;
    bool unitary = true;

    int size() const { return 1 << num_mixed; }
};

// Some pieces, which somebody else keeps.
using PieceRefs = std::vector<const Piece*>;

// All pieces of one plan refer to these arrays.
struct PlanContext {
    Patterns patterns;
    Interned labels;
    std::vector<Mask> words;
    std::vector<Index> values;
    std::vector<Index> places;
    std::vector<Index> listed;  // the entries of factors that have neither a place in a row nor a form
    Interned forms;  // how factors of products pick their entries: a byte for each, see `factor`

    PlanContext() { forms.of({}); }

    const Mask* directions(const Piece& piece) const { return words.data() + piece.words; }
    const Mask* reads(const Piece& piece) const { return words.data() + piece.words + 2 * piece.num_mixed; }
    int bit(const Piece& piece, int k) const { return lowest(directions(piece)[k]); }
    Index place(const Places& of, Index k) const { return of.table == Places::none ? of.first + k : places[of.table + k]; }

    // Gives a piece its bits and reads, and sets the masks that follow from them and from its condition.
    void put(Piece& piece, const int* bits, int num_mixed, const Mask* reads, int num_reads);
    // Appends the places of a piece that a list of entries picks.
    Places picked(const Places& of, const Index* entries, std::size_t size);
    // Returns a factor with some entries: 0 and 1 for these constants, 2 + k for number k of the source.
    Factor factor(const Places& of, const Index* entries, Index size);
    // Returns the number of a form: of at most so many entries, each below 256.
    static constexpr Index most_of_form = 256;  // a form has a byte for each entry, so wider sources are listed
    Index form(const Index* entries, Index size);
    // Returns a factor that has the entries of a source as they are.
    static Factor factor(const Places& of) { return of.table == Places::none ? Factor{of.first, 0} : Factor{of.table, 1}; }
    // Calls act(place) for each of `size` entries of a factor.
    template <class Act>
    void each_place(Factor of, Index size, Act act) const;
};

inline void PlanContext::put(Piece& piece, const int* bits, int num_mixed, const Mask* reads, int num_reads) {
    piece.words = static_cast<std::uint32_t>(words.size());
    piece.num_mixed = static_cast<std::uint8_t>(num_mixed);
    piece.num_reads = static_cast<std::uint8_t>(num_reads);
    piece.mixed = {};
    for (int copy = 0; copy < 2; ++copy)  // directions, and parities
        for (int k = 0; k < num_mixed; ++k) words.push_back(unit(bits[k]));
    for (int k = 0; k < num_mixed; ++k) piece.mixed |= {unit(bits[k])};
    piece.touched = piece.mixed.units | piece.when.mask;
    for (int k = 0; k < num_reads; ++k) {
        words.push_back(reads[k]);
        piece.touched |= reads[k];
    }
}

inline Factor PlanContext::factor(const Places& of, const Index* entries, Index size) {
    bool plain = size == of.count, short_ = size <= most_of_form;
    for (Index k = 0; k < size; ++k) {
        plain = plain && entries[k] == k + 2;
        short_ = short_ && entries[k] < 256;
    }
    if (plain) return factor(of);
    if (!short_) {
        Factor out{static_cast<Index>(listed.size()), Factor::entries};
        for (Index k = 0; k < size; ++k) listed.push_back(entries[k] < 2 ? entries[k] : place(of, entries[k] - 2));
        return out;
    }
    Factor out = factor(of);
    out.form += 2 * form(entries, size);
    return out;
}

inline Index PlanContext::form(const Index* entries, Index size) {
    char bytes[most_of_form];
    for (Index k = 0; k < size; ++k) bytes[k] = static_cast<char>(entries[k]);
    return forms.of({bytes, size});
}

template <class Act>
void PlanContext::each_place(Factor of, Index size, Act act) const {
    if (of.form >= Factor::entries) {
        const Index* from = listed.data() + of.at;
        if (of.form == Factor::entries)
            for (Index k = 0; k < size; ++k) act(from[k]);
        else
            for (Index k = 0; k < size; ++k) act(BlockRow::place(from[k / BlockRow::width], k % BlockRow::width));
        return;
    }
    const Index* table = of.form & 1 ? places.data() + of.at : nullptr;
    if (of.form <= 1) {  // the entries as they are
        for (Index k = 0; k < size; ++k) act(table ? table[k] : of.at + k);
        return;
    }
    const char* form = forms[of.form / 2].data();
    for (Index k = 0; k < size; ++k) {
        Index entry = static_cast<unsigned char>(form[k]);
        act(entry < 2 ? entry : table ? table[entry - 2] : of.at + entry - 2);
    }
}

inline Places PlanContext::picked(const Places& of, const Index* entries, std::size_t size) {
    Places out{0, static_cast<Index>(size), static_cast<Index>(places.size())};
    for (std::size_t k = 0; k < size; ++k) places.push_back(place(of, entries[k]));
    return out;
}

}  // namespace qx::plan
