// What a bit is, as a polynomial over GF(2) of the bits with which a circuit began: a sum of products of some of them.
#pragma once

#include <optional>
#include <vector>

#include "planner/form/pauli.hpp"

namespace qx::form {

class Polynomial {
  public:
    static constexpr std::size_t most_terms = 128;  // of a product of two; there is none with more

    Polynomial() = default;                                  // 0
    explicit Polynomial(Mask product) : terms_{product} {}  // of some bits; 1 if these are none

    // The products of which it is the sum, each once, in order.
    const std::vector<Mask>& terms() const { return terms_; }
    std::size_t size() const { return terms_.size(); }
    bool operator==(const Polynomial&) const = default;
    bool is_zero() const { return terms_.empty(); }
    bool is_one() const { return terms_.size() == 1 && !terms_[0]; }
    // Whether it is 1 where all bits are 0.
    bool begins_as_one() const { return !terms_.empty() && !terms_[0]; }
    bool reads(int bit) const;

    Polynomial& operator^=(const Polynomial& other);
    friend Polynomial operator^(Polynomial one, const Polynomial& other) { return one ^= other; }
    friend std::optional<Polynomial> product(const Polynomial& one, const Polynomial& other);
    // Returns it with a bit flipped where another polynomial is 1.
    std::optional<Polynomial> with_flipped(int bit, const Polynomial& where) const;

    // Returns the polynomial that is 1 where bits have values; none if it takes too many terms.
    static std::optional<Polynomial> where(Mask bits, Mask values);

  private:
    static Polynomial sum_of(std::vector<Mask> terms);

    std::vector<Mask> terms_;
};

}  // namespace qx::form
