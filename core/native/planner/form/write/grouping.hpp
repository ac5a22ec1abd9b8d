// Rotations under controls, found among rotations.
//
// A rotation under k controls is 2^k rotations by equal angles, about a string times all products of the controls: so are
// the four about X of a Toffoli gate, and the eight of a double excitation. The form of a circuit has them one by one, in
// any layers. Four that multiply to 1 are one rotation under two controls; two under the same controls are one under three.
#pragma once

#include <unordered_map>

#include "base/interned.hpp"
#include "planner/form/write/waiting.hpp"

namespace qx::form {

using plan::Memo;

class Grouping {
  public:
    // waiting: rotations in the order of their layers. An eighth turn may be one the other way, if all that comes behind it,
    // and the images of an operator at the end, are turned. diagonal: whether controls have to be diagonal, so that they are
    // parities as the strings are; else an H or S† and H on some wires makes them so. Those with controls stay as they are.
    Grouping(std::vector<Waiting> waiting, Controls& controls, std::vector<SignedPauli>& x, std::vector<SignedPauli>& z,
             bool diagonal);

    // Does a bounded amount of work; returns whether there is more.
    bool advance();
    // What is there when it is done, in an order in which all that does not commute stands as before.
    std::vector<Waiting> result() const;

  private:
    static constexpr Index none = Memo::none;

    struct Item {
        Waiting of;
        Index kind;  // the number of its angle
        std::uint64_t blocked = ~std::uint64_t{0};  // the layer in which something first does not commute with it
        bool gone = false, known = true;  // known: whether it is looked at whether something does not commute with it
    };
    // Two rotations by one angle, the hash of their product, and the pair before it in one row of the table of pairs.
    struct Pair {
        std::uint64_t hash;
        Index a, b, before;
    };

    void add(Waiting own);
    bool fits_controls(const Pauli& of, const Pauli& other) const;
    Index kind_of(const Waiting& of);
    Index append(const Waiting& own, Index kind);
    void block(const Waiting& by);
    bool usable(Index number) const;
    bool join(Waiting& own, Index kind);
    bool turns_to_fit(Waiting& own, const Item& a, const Item& b, const Item& c, bool& other_way) const;
    void turn_back(Waiting& own);
    bool place(const std::vector<Index>& members, const Waiting* last, std::size_t& at) const;
    Index group(const std::vector<Index>& members, const Waiting* last, std::size_t at, Index kind);
    void merge_on(Index number);
    std::uint64_t key(const Waiting& of, Index kind) const;

    std::vector<Waiting> waiting_;
    Controls& controls_;
    std::vector<SignedPauli>&x_, &z_;
    bool diagonal_;
    std::size_t next_ = 0;
    std::vector<Item> items_;
    std::vector<Index> order_, active_;
    std::vector<std::vector<Index>> of_kind_;
    std::vector<int> left_;  // of each kind, how many there are
    Memo kinds_, groups_;
    std::vector<Pair> pairs_;
    std::vector<Index> rows_;  // the last pair of each row
    std::uint64_t layer_ = 0;
    std::size_t layer_begin_ = 0, groups_here_ = 0;  // in `order_`: the layer at hand, which begins with groups
};

}  // namespace qx::form
