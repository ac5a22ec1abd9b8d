// A table of phases while it is made.

#include "planner/tiles/phases.hpp"

#include <algorithm>

namespace qx::plan {

void PhaseTable::add(const std::vector<Mask>& parities, Mask wanted, char kind, Index place) {
    if (!factors.empty() && factors.size() % 64 == 0) finish();
    Mask bit = unit(static_cast<int>(factors.size() % 64));
    while (parities_.size() < parities.size()) parities_.emplace_back();
    for (std::size_t k = 0; k < parities.size(); ++k) {
        if (wanted >> k & 1) parities_[k].first ^= bit;
        each(parities[k], [&](int of) { parities_[k].column[of] |= bit; });
    }
    of_class_[static_cast<int>(kind)] |= bit;
    factors.push_back(place);
    of_one_parity_ = of_one_parity_ && parities.size() == 1;
}

void PhaseTable::finish() {
    if (factors.empty()) return;
    std::size_t at = (factors.size() - 1) / 64;
    Mask used = below(static_cast<int>(factors.size() - 64 * at));
    word_.assign(classes.size(), used);
    for (const Sums& sums : parities_) {
        expand(sums, other_);
        for (std::size_t entry = 0; entry < word_.size(); ++entry) word_[entry] &= other_[entry];
    }
    for (std::size_t entry = 0; entry < word_.size(); ++entry) incidence[entry * words_ + at] = word_[entry];
    if (of_class_[complex_] == used) {  // the usual case
        for (std::size_t entry = 0; entry < word_.size(); ++entry)
            classes[entry] = word_[entry] && classes[entry] != zero ? static_cast<char>(complex_) : classes[entry];
    } else {
        for (std::size_t entry = 0; entry < word_.size(); ++entry)
            classes[entry] = times(classes[entry], product(word_[entry]));
    }
    parities_.clear();
    std::fill(of_class_, of_class_ + entry_classes, 0);
}

// Sets the word of each entry: bit after bit of its number, the entries that have it follow from those that do not.
void PhaseTable::expand(const Sums& sums, std::vector<Mask>& out) const {
    out.resize(classes.size());
    out[0] = sums.first;
    for (std::size_t bit = 0; bit < bits_; ++bit) {
        Mask column = sums.column[bit], *from = out.data(), *to = from + (std::size_t{1} << bit);
        for (Mask* end = to; from < end; ++from, ++to) *to = *from ^ column;
    }
}

// Returns the class of a product of some of the last factors: that of `times`, again and again.
char PhaseTable::product(Mask some) const {
    auto of = [&](Entry kind) { return some & of_class_[kind]; };
    if (of(zero)) return zero;
    if (of(complex_)) return complex_;
    if (of(real) || of(imag)) return count(of(imag)) & 1 ? imag : real;
    return count(of(minus_one)) & 1 ? minus_one : one;
}

}  // namespace qx::plan
