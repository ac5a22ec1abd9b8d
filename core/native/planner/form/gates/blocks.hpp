// An operation as matrices that selectors choose from, and with as few mixed wires as it has.
#pragma once

#include <vector>

#include "planner/form/gates/product.hpp"

namespace qx::form {

// X, Y or Z (axis 0, 1 or 2) of an argument that an operation mixes.
LocalPauli on_wire(int wire, int axis);

// Multiplies a string by one that commutes with it; returns whether the product is negative.
bool multiply(LocalPauli& a, const LocalPauli& b);

// Matrices [2^selectors, 2^mixed, 2^mixed]; a selector is a Z, whose sign tells which half a matrix belongs to.
struct Blocks {
    std::vector<int> mixed;
    std::vector<LocalPauli> selectors;
    std::vector<Complex> entries;

    // Those of an operation; where controls have other values there is the identity.
    explicit Blocks(const Operation& of);
    Blocks() = default;

    std::size_t size() const { return std::size_t{1} << mixed.size(); }
    std::size_t number() const { return std::size_t{1} << selectors.size(); }
    Complex* matrix(std::size_t which) { return entries.data() + which * size() * size(); }
    const Complex* matrix(std::size_t which) const { return entries.data() + which * size() * size(); }

    // Returns whether a matrix moves amplitude between 0 and 1 of a mixed wire, given by its place; if none does, writes the
    // most that `tolerance` leaves out.
    bool mixes(std::size_t wire, double tolerance, double& left_out) const;
    // Lets a mixed wire that no matrix mixes be the last selector.
    void read(std::size_t wire);
};

}  // namespace qx::form
