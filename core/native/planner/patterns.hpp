// Properties of matrices that follow from the classes of their entries alone.
#pragma once

#include "base/interned.hpp"

namespace qx::plan {

// The class of one entry of a matrix, as in qsim_ex.circuit.ops.
// From unit_imag on they are numbers, which only the first steps of planning know.
enum Entry : char {
    zero,
    one,
    minus_one,
    real,
    imag,
    complex_,
    unit_imag,
    minus_unit_imag,
    root_half,
    minus_root_half,
    imag_root_half,
    minus_imag_root_half,
    eighth,
    minus_eighth,
    three_eighths,
    minus_three_eighths
};
constexpr int entry_classes = 6;

// Tells whether a kernel is given the number of such an entry; 0, 1 and -1 are written into its code.
inline bool numbered(char entry) { return entry >= real; }

// An operation that is a relabelling of wires followed by phases: new bit j of the mixed value is old bit source[j], XOR
// bit j of flip. column[row]: the old value that arrives at a row. trivial: whether all phases are 1.
struct Relabeling {
    bool found = false;
    bool trivial = false;
    Mask flip = 0;
    std::vector<int> source;
    std::vector<Index> column;
};

// Reads x -> to[x] as bits and a flip: new bit j = old bit source[j] XOR bit j of flip. `column` stays empty.
Relabeling affine(const Index* to, std::size_t size);

// Patterns, known by number, with their properties; each property is computed once.
class Patterns {
  public:
    Index of(Interned::Bytes bytes) { return known_.of(bytes); }
    Interned::Bytes operator[](Index pattern) const { return known_[pattern]; }
    const Interned& all() const { return known_; }

    // The pattern of left * right, two square matrices of one size.
    Index product(Index left, Index right, int size);
    // The pattern with classes for the numbers that only the first steps of planning know.
    Index plain(Index pattern);
    // The pattern with classes for eighth turns; other numbers stay known.
    Index without_eighths(Index pattern);
    // Multiply-adds per amplitude of a matrix [blocks, size, size]; in_vectors: as CPUs multiply it, see `work_of_rows`. Of
    // matrices that differ in the reads of `looked_up` alone nobody knows which one acts: all but the identity have entries
    // of one class.
    double mix_work(Index pattern, int size, bool in_vectors, Index looked_up = 0);
    // Multiply-adds per amplitude of a table of phases; a factor of 1 costs nothing. looked_up: as in `mix_work`.
    double diagonal_work(Index pattern, Index looked_up);
    // Where each value moves to, if there is one matrix [size, size] of zeros and ones that is a permutation; else empty.
    const std::vector<Index>& permutation(Index pattern, int size);
    const Relabeling& relabeling(Index pattern, int size);

  private:
    Interned known_;
    Memo products_, plain_, without_eighths_, works_, vector_works_, permutations_, relabelings_;
    std::vector<double> work_;
    std::vector<std::vector<Index>> permutation_;
    std::vector<Relabeling> relabeling_;
};

// The multiply-adds of a row of a matrix; one of one +-1 moves an amplitude.
long row_work(Interned::Bytes row);

char times(char a, char b);
char plus(char a, char b);

}  // namespace qx::plan
