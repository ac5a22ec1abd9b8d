// The sets of values that a matrix mixes among themselves, as CPUs multiply it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/masks.hpp"
#include "planner/patterns.hpp"

namespace qx::plan {

// A matrix [blocks, size, size] of classes.
struct Grid {
    std::string of;
    int size;
    int blocks() const { return static_cast<int>(of.size()) / (size * size); }
    Interned::Bytes row(int value) const {
        return Interned::Bytes(of).substr(static_cast<std::size_t>(value * size), static_cast<std::size_t>(size));
    }
    char operator()(int block, int row, int column) const { return of[(block * size + row) * size + column]; }
};

// Sets of one value, of two or of 4, 8, 16 …, of which some may be several sets; a value is in one of them.
//
// of: the matrix [blocks, size, size] that mixes them. to: where behind it the rows of values go; empty if they stay.
struct ValueSets {
    std::vector<std::vector<int>> sets;
    Grid of;
    std::vector<Index> to;
};

ValueSets value_sets(Interned::Bytes pattern, int num_bits);

// Puts rows of matrices [blocks, size, size] where they are before they move.
template <class Entries>
Entries moved_back(const Entries& entries, const std::vector<Index>& to) {
    Entries out = entries;
    const std::size_t size = to.size();
    for (std::size_t row = 0; row < entries.size() / size; ++row)
        std::copy_n(entries.begin() + static_cast<std::ptrdiff_t>((row / size * size + to[row % size]) * size), size,
                    out.begin() + static_cast<std::ptrdiff_t>(row * size));
    return out;
}

// Sets 0 or 1 for each value, with real entries between equal ones and all others imaginary; false if impossible.
//
// Then the matrix is D R D^-1 with R real and D = diag(i^planes), and D only permutations the planes of a row.
bool find_planes(const Grid& grid, const std::vector<int>& values, std::vector<int>& planes);

// The multiply-adds of a matrix [blocks, size, size], for all of its rows.
//
// in_vectors: as CPUs multiply one without reads: of a set of four values or more also the entries that are 0.
long work_of_rows(Interned::Bytes pattern, int size, bool in_vectors);

}  // namespace qx::plan
