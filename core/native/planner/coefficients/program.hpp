// The program that makes a plan's numbers from a circuit's operands.
//
// While planning, the entries of every matrix are places in one growing coefficient buffer, which begins with the operands
// (its first two entries are 0 and 1). Rearranging a matrix only rearranges places; multiplying appends new ones, except
// where the right factor is a product that nothing else takes: then the new product stands in its place. In this form,
// which takes few bytes, a CPU runs the program (planner/coefficients/bind.cpp). `listed` gives all numbers places of their
// own, and lists the places of all factors, as qsim_ex.steps.coefficients has them.
#pragma once

#include "planner/piece.hpp"

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

// A row of the listed program: `count` products or Euler angles, or tables [entries, factors]. blocks: of Euler angles,
// whether the rotations are imaginary. at: where their places begin, all left factors before all right ones. bits: where a
// table's incidence begins, in words of 64 factors.
struct Instruction {
    enum Type : Int { product, euler, fold };
    Int type, count, blocks, size, columns, entries, factors, at, bits;
};

// The listed program, and the places of the packed numbers in its coefficient buffer.
struct CoefficientArrays {
    std::vector<Instruction> program;
    std::vector<Index> places;
    std::vector<std::uint64_t> incidence;
    std::vector<Index> packed;
};

// left * right of a kind whose sizes are powers of two; the entries stand from `start` on.
struct Product {
    Index start;
    Factor left, right;
    Index level;
    std::uint8_t late, blocks, size, columns;  // the sizes as exponents

    ProductKind kind() const { return {late, level, Index{1} << blocks, Index{1} << size, Index{1} << columns}; }
};

struct Euler {
    Places matrix;
    Index start;
    bool imaginary;
};
constexpr Index euler_numbers = 7;

struct Fold {
    Index entries, factors, start;
    std::size_t bits, at;  // where its incidence and its factors begin
};

class CoefficientProgram {
  public:
    explicit CoefficientProgram(Int num_operands) : num_operands_(num_operands), size_(num_operands) {}

    // Returns the places of left * right. A right factor that is an earlier product as it is must be taken by nothing else:
    // those of pieces that are merged are not.
    Places product(ProductKind kind, Factor left, Factor right);
    // Returns the places of the seven numbers that steps.Euler makes of a matrix, for late products.
    Places euler(const Places& matrix, bool imaginary = false);
    // Returns the places of a table whose entry t is the product of the factors f with bit f of row t of `incidence`
    // set. Entries of the same factors are made once: of a target's phases with nine controls, half are 1. distinct: whether
    // it is known that there are none.
    Places fold(std::vector<std::uint64_t>&& incidence, std::vector<Index>&& factors, Index entries, bool distinct,
                PlanContext& context);

    Int num_operands() const { return num_operands_; }
    // How many numbers there are so far, the operands included; and how many if each had a place of its own.
    Int size() const { return size_; }
    Int listed_size() const { return size_ + shared_; }
    std::size_t bytes() const;
    // How many products and Euler angles there are; and the bytes in which a product's factors are laid out.
    std::size_t untabled() const { return products_.size() + eulers_.size(); }
    Int room() const { return room_; }

    // In the order in which they were asked for, which is one in which they can be made: early products, Euler angles, late
    // products, tables.
    const std::vector<Product>& products() const { return products_; }
    const std::vector<Euler>& eulers() const { return eulers_; }
    const std::vector<Fold>& folds() const { return folds_; }
    const std::uint64_t* incidence(const Fold& fold) const { return incidence_.data() + fold.bits; }
    const Index* factors(const Fold& fold) const { return factors_.data() + fold.at; }
    // How many products are early.
    std::size_t early() const { return early_; }

    // Returns the program with each kind's instructions together, and all numbers in the order in which these append them.
    CoefficientArrays listed(const PlanContext& context, const std::vector<Index>& packed) const;

  private:
    Index take(Index size) {
        Index start = static_cast<Index>(size_);
        size_ += size;
        return start;
    }

    Int num_operands_;
    Int size_, shared_ = 0, room_ = 0;
    std::size_t early_ = 0;
    std::vector<Product> products_;
    std::vector<Euler> eulers_;
    std::vector<Fold> folds_;
    std::vector<std::uint64_t> incidence_;
    std::vector<Index> factors_;
};

}  // namespace qx::plan
