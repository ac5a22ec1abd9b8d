// The program that makes a plan's numbers from a circuit's operands.
//
// While planning, the entries of every matrix are places in one growing number buffer, which begins with the operands
// (its first two entries are 0 and 1). Rearranging a matrix only rearranges places; multiplying appends new ones.
#pragma once

#include "plan_piece.hpp"

namespace qx::plan {

// Products left [blocks, size, size] * right [blocks, size, columns] of one kind, which are made at once.
struct ProductKind {
    Index late = 0;  // whether they are made after the numbers of `Euler`, which they may contain
    Index level = 0;
    Index blocks = 1;
    Index size = 0;
    Index columns = 0;

    auto operator<=>(const ProductKind&) const = default;
    Index left() const { return blocks * size * size; }
    Index right() const { return blocks * size * columns; }
};

// A row of the finished program: `count` products or Euler angles, or tables [entries, factors]. at: where their places
// begin, all left factors before all right ones. bits: where a table's incidence begins, in words of 64 factors.
struct Instruction {
    enum Type : Int { product, euler, fold };
    Int type, count, blocks, size, columns, entries, factors, at, bits;
};

struct NumberArrays {
    Int num_operands = 0;
    std::vector<Instruction> program;
    std::vector<Index> places;
    std::vector<std::uint64_t> incidence;
};

class NumberProgram {
  public:
    explicit NumberProgram(Int num_operands) : num_operands_(num_operands), size_(num_operands) {}

    // Returns the places of left * right. The factors stand one behind the other at `at` of `Book::places`.
    Places product(ProductKind kind, Index at);
    // Returns the places of the seven numbers that steps.Euler makes of a matrix, for late products.
    Places euler(const Places& matrix);
    // Returns the places of a table whose entry t is the product of the factors f with bit f of row t of `incidence`
    // set. Entries of the same factors are made once: of a target's phases with nine controls, half are 1.
    Places fold(std::vector<std::uint64_t>&& incidence, std::vector<Index>&& factors, Index entries, Book& book);

    // How many numbers there are so far, the operands included.
    Int size() const { return size_; }

    // Puts the instructions in order, and renumbers all places to the order in which they append; `packed` as well.
    void finish(Book& book, NumberArrays& out, std::vector<Index>& packed);

  private:
    struct Product {
        ProductKind kind;
        Index at, start;
    };
    struct Euler {
        Places matrix;
        Index start;
    };
    struct Fold {
        Index entries, factors, start;
        std::size_t bits, at;  // in `incidence_` and `factors_`
    };

    Index take(Index size) {
        Index start = static_cast<Index>(size_);
        size_ += size;
        return start;
    }

    Int num_operands_;
    Int size_;
    std::vector<Product> products_;
    std::vector<Euler> eulers_;
    std::vector<Fold> folds_;
    std::vector<std::uint64_t> incidence_;
    std::vector<Index> factors_;
};

}  // namespace qx::plan
