// A table of phases while it is made: the product of many diagonals for each value of some parities.
#pragma once

#include "planner/patterns.hpp"

namespace qx::plan {

// Which factors an entry of the table has is found for 64 factors and all entries at once. A factor belongs to an entry if
// some parities of its number have the wanted values. So the first parities of 64 factors, as one word, are sums of a word
// for each bit of the number; likewise their second parities, and so on; and the words are combined by AND.
class PhaseTable {
  public:
    // bits: of an entry's number. columns: how many factors will be added.
    PhaseTable(std::size_t bits, Index columns)
        : classes(std::size_t{1} << bits, one), incidence(classes.size() * ((columns + 63) / 64)), bits_(bits),
          words_((columns + 63) / 64) {
        factors.reserve(columns);
    }

    // Adds a factor of some class, which stands at a place, to the entries at which parity k is bit k of `wanted`. Each
    // parity is that of some bits of the entry's number.
    void add(const std::vector<Mask>& parities, Mask wanted, char kind, Index place);
    // Makes the rows of the last factors, once all are added.
    void finish();

    Index entries() const { return static_cast<Index>(classes.size()); }
    // Whether no two entries have the same factors: where each factor asks one parity, and these tell all entries apart.
    bool distinct() const { return of_one_parity_; }

    std::vector<char> classes;  // of each entry
    std::vector<std::uint64_t> incidence;  // rows of words, a bit for each factor
    std::vector<Index> factors;

  private:
    // A word for the entry 0, and what each bit of an entry's number adds to it.
    struct Sums {
        Mask first = ~Mask{0};
        Mask column[64] = {};
    };

    void expand(const Sums& sums, std::vector<Mask>& out) const;
    char product(Mask some) const;

    std::size_t bits_, words_;
    bool of_one_parity_ = true;
    std::vector<Sums> parities_;  // of the last factors, up to 64
    Mask of_class_[entry_classes] = {};  // which of these factors are of each class
    std::vector<Mask> word_, other_;
};

}  // namespace qx::plan
