// What a bit is, as a polynomial over GF(2) of the bits with which a circuit began.

#include "planner/form/clusters/bits/polynomial.hpp"

#include <algorithm>
#include <iterator>

namespace qx::form {

namespace {

constexpr std::size_t most_products = 4096;

}  // namespace

bool Polynomial::reads(int bit) const {
    return std::any_of(terms_.begin(), terms_.end(), [&](Mask term) { return (term >> bit & 1) != 0; });
}

Polynomial& Polynomial::operator^=(const Polynomial& other) {
    std::vector<Mask> sum;
    sum.reserve(terms_.size() + other.terms_.size());
    std::set_symmetric_difference(terms_.begin(), terms_.end(), other.terms_.begin(), other.terms_.end(),
                                  std::back_inserter(sum));
    terms_ = std::move(sum);
    return *this;
}

// Adds terms up, of which some may be there more than once.
Polynomial Polynomial::sum_of(std::vector<Mask> terms) {
    std::sort(terms.begin(), terms.end(), [](Mask a, Mask b) { return a < b; });
    Polynomial out;
    for (std::size_t k = 0; k < terms.size();) {
        std::size_t end = k;
        while (end < terms.size() && terms[end] == terms[k]) ++end;
        if ((end - k) & 1) out.terms_.push_back(terms[k]);
        k = end;
    }
    return out;
}

std::optional<Polynomial> product(const Polynomial& one, const Polynomial& other) {
    if (one.is_one()) return other;
    if (other.is_one()) return one;
    if (one.size() * other.size() > most_products) return {};
    std::vector<Mask> terms;
    terms.reserve(one.size() * other.size());
    for (const Mask a : one.terms_)
        for (const Mask b : other.terms_) terms.push_back(a | b);
    Polynomial out = Polynomial::sum_of(std::move(terms));
    if (out.size() > Polynomial::most_terms) return {};
    return out;
}

std::optional<Polynomial> Polynomial::where(Mask bits, Mask values) {
    std::optional<Polynomial> out(Polynomial(bits & values));
    each(bits & ~values, [&](int bit) {
        if (out) out = product(*out, Polynomial(unit(bit)) ^ Polynomial(0));
    });
    return out;
}

std::optional<Polynomial> Polynomial::with_flipped(int bit, const Polynomial& where) const {
    std::vector<Mask> terms = terms_;
    for (const Mask term : terms_)
        if (term >> bit & 1)
            for (const Mask more : where.terms_) terms.push_back((term & ~unit(bit)) | more);
    if (terms.size() > most_products) return {};
    Polynomial out = sum_of(std::move(terms));
    if (out.size() > most_terms) return {};
    return out;
}

}  // namespace qx::form
