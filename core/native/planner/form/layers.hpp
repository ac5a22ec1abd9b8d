// A list of Pauli rotations in layers: a rotation stands in the first layer behind all that it does not commute with.
//
// That is Foata's normal form: equal lists in other orders have equal layers. What stands in one layer commutes, so a
// rotation merges with an equal one exactly if that stands in the layer where it would be put. Three rotations P, Q, P or
// R, Q, P with nothing else between are a turn of a virtual qubit, and are written as few rotations as it takes.
#pragma once

#include "base/interned.hpp"
#include "planner/form/frame.hpp"
#include "planner/form/gates/rounding.hpp"

namespace qx::form {

using plan::Memo;

// exp(-i angle/2 P), or a block, which has generators in the place of P: all Pauli strings of its matrix are products of
// them.
struct Item {
    Pauli pauli;
    Angle angle;
    Index layer = 0, name = 0, before = 0;  // of the Pauli string: its number, and the rotation about it before this one
    Index first = 0, count = 0;             // generators of a block
    Index instruction = 0;

    bool is_block() const { return count > 0; }
};

class Layers {
  public:
    static constexpr Index none = ~Index{0};

    // Quarter turns go into the frame. rounding: what angles may be off; it stays where it is. axes: whether turns of
    // virtual qubits are written about the axes that come first also where that makes them no shorter. Two turns may have a
    // rotation in common, and then each would change the other again and again.
    Layers(Frame& frame, Rounding& rounding, bool axes) : frame_(frame), rounding_(rounding), axes_(axes) {}

    // Adds exp(-i angle/2 P). What varies is no quarter turn, never 0, and part of no turn that is written anew.
    void add(const Pauli& pauli, const Angle& angle) { add(pauli, angle, true); }
    // Adds what an instruction does, of which no rotations are known.
    void add_block(const std::vector<SignedPauli>& generators, Index instruction);

    // Puts the layers in order, each by its Pauli strings.
    void sort();
    std::size_t size() const { return layers_.size(); }
    std::size_t num_items() const { return items_.size() - free_.size(); }
    const std::vector<Index>& layer(std::size_t number) const { return layers_[number].members; }
    const Item& item(Index number) const { return items_[number]; }
    const SignedPauli* generators(const Item& item) const { return generators_.data() + item.first; }
    // How often rotations have merged, or were written as others.
    std::size_t changes() const { return changes_; }

  private:
    // Pauli strings that span those of a layer: these themselves, or, where there are many, each with a bit that later ones
    // do not have.
    struct Generator {
        Pauli pauli, bit;
    };
    struct Layer {
        std::vector<Index> members;
        std::vector<Generator> span;
        Pauli all;
        bool reduced = false;

        void extend(Pauli pauli);
        bool commutes(const Pauli& pauli) const;
    };
    // Two rotations and a third one that comes behind them: a turn of a virtual qubit.
    struct Run {
        Index first = 0, second = 0;
        Pauli third;
        double angle = 0;
    };

    std::size_t highest(const Pauli& pauli) const;
    std::size_t depth(const Pauli& pauli, std::size_t end, Index but = none) const;
    bool blocks(std::size_t layer, const Pauli& pauli, Index but) const;
    Index name_of(const Pauli& pauli);
    Index known_name(const Pauli& pauli) const;
    // The last rotation about a string, if it stands in a layer.
    Index found(Index name, std::size_t layer) const;
    void add(const Pauli& pauli, const Angle& angle, bool looks);
    void put(Item item, std::size_t layer);
    void put_block(Item item);
    void forget(Index number);
    void remove(Index number);
    void quarter(const Pauli& about, int quarters);
    void merge(Index number, const Angle& angle);
    Index only_neighbour(const Pauli& pauli, std::size_t layer) const;
    bool find_run(const Pauli& pauli, double angle, std::size_t layer, Run& out) const;
    bool move_away(std::size_t from, Index but);
    bool shorter(const Run& run, const Turn& turn, const Pauli* axes, const std::array<int, 3>& order, Rotations& out) const;
    bool rewrite(const Run& run);

    Frame& frame_;
    Rounding& rounding_;
    bool axes_;
    std::vector<Layer> layers_;
    std::vector<Item> items_;
    std::vector<SignedPauli> generators_;
    std::vector<Index> free_;                   // of `items_`
    Memo names_;                                // Pauli strings by a hash
    std::vector<Pauli> strings_;                // by name
    std::vector<Index> last_;                   // by name
    std::size_t last_x_[64] = {}, last_z_[64] = {};  // for each wire: behind the last layer that has X, or Z, there
    std::vector<Item> moved_;  // away, while a turn is written anew; those from `waits_` on are not back yet
    std::size_t waits_ = 0, changes_ = 0;
};

}  // namespace qx::form
