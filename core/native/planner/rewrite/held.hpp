// The latest pieces of work while others that follow may change them.
#pragma once

#include <algorithm>

#include "planner/piece.hpp"

namespace qx::plan {

// The latest `size` positions, each with a piece or with none; and for each bit the positions of the pieces that touch it.
class Held {
  public:
    explicit Held(Index size) : size_(size), held_(size), is_held_(size), on_bit_(64) {}

    // These three are for positions that are in reach.
    Piece& at(Index position) { return held_[position % size_]; }
    const Piece& at(Index position) const { return held_[position % size_]; }
    bool holds(Index position) const { return is_held_[position % size_]; }

    // For a bit the positions of the pieces that touch it, ascending; the first may be out of reach.
    const std::vector<Index>& on(int bit) const { return on_bit_[static_cast<std::size_t>(bit)]; }

    // Puts a piece behind all others.
    void push(const Piece& piece, Index position) {
        at(position) = piece;
        is_held_[position % size_] = true;
        each(piece.touched, [&](int bit) {
            std::vector<Index>& places = on_bit_[static_cast<std::size_t>(bit)];
            if (places.size() > 2 * size_)
                places.erase(places.begin(), std::lower_bound(places.begin(), places.end(), position - size_));
            places.push_back(position);
        });
    }
    // Puts a piece at a position that is free.
    void put(const Piece& piece, Index position) {
        at(position) = piece;
        is_held_[position % size_] = true;
        each(piece.touched, [&](int bit) {
            std::vector<Index>& places = on_bit_[static_cast<std::size_t>(bit)];
            places.insert(std::lower_bound(places.begin(), places.end(), position), position);
        });
    }
    void remove(Index position) {
        each(at(position).touched, [&](int bit) {
            std::vector<Index>& places = on_bit_[static_cast<std::size_t>(bit)];
            places.erase(std::lower_bound(places.begin(), places.end(), position));
        });
        is_held_[position % size_] = false;
    }
    // Passes on the piece whose room a position takes, if there is one.
    template <class Take>
    void pass_on(Index position, Take take) {
        if (holds(position)) take(at(position));
        is_held_[position % size_] = false;
    }

  private:
    const Index size_;
    std::vector<Piece> held_;
    std::vector<bool> is_held_;
    std::vector<std::vector<Index>> on_bit_;
};

}  // namespace qx::plan
