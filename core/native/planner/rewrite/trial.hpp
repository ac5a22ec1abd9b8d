// What cancels in a product: its entries at trial numbers.
//
// H·H⊗·diag·H⊗H has eight zeros, which no product of patterns shows: they are sums of numbers that cancel, whatever the
// phases of the diagonal are. So products with a known √½ in them, as H and √X have, are also computed at trial numbers:
// what is known stands for itself, every other number is drawn by its place. An entry is a polynomial in the drawn
// numbers. If it is 0 at two draws it is 0 for all numbers, but for a chance of 1e-18 that both draws hit a root. What
// cancels is made 0 in each product at once, so long products have no more doubtful entries than short ones.
#pragma once

#include <algorithm>
#include <complex>

#include "planner/piece.hpp"

namespace qx::plan {

// A matrix at each of the draws.
struct Trial {
    using Number = std::complex<double>;

    static constexpr int draws = 2, most_entries = 16;
    Number entry[draws][most_entries];

    // Sets an entry of a class to the number that it stands for, or to one that is drawn by its place.
    void set(int at, char kind, Index place);
    // Multiplies by a matrix of the same size from the left, with exact zeros where sums cancel, and scales the product so
    // that it stays a number.
    void multiply(const Trial& left, int size);
    // Returns whether numbers are equal, but for rounding. Products of as many entries of one trial, if they are equal at
    // all draws, are so for all numbers: entries are polynomials up to a common scale.
    static bool same(Number one, Number other);
    // Returns whether nothing is drawn in it.
    bool is_known(int entries) const { return std::equal(entry[0], entry[0] + entries, entry[1]); }
    // Returns a pattern with zeros where all draws have them.
    Index without_zeros(Index pattern, int entries, Patterns& patterns) const;
};

// The trials of products, as few numbers as these have.
class Trials {
  public:
    // Keeps a matrix of so many entries, and returns where.
    Index put(const Trial& trial, int entries);
    // Makes room for others of the same size.
    void drop(Index at, int entries) { free_[entries > 4].push_back(at); }
    Trial::Number entry(Index at, int entries, int draw, int k) const {
        return numbers_[at + static_cast<std::size_t>(draw * entries + k)];
    }

  private:
    std::vector<Trial::Number> numbers_;
    std::vector<Index> free_[2];  // of one bit, and of two
};

// Returns whether something may cancel in products with a piece of work, which patterns do not show.
bool cancels(const Piece& piece, const PlanContext& context);

}  // namespace qx::plan
