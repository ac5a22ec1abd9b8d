// What of Pauli strings matters behind |0…0⟩.

#include "planner/form/zeros.hpp"

namespace qx::form {

void Zeros::flip(Mask x) {
    Mask odd = 0;
    each(alive_, [&](int wire) { odd |= is_odd(product(wire) & x) ? unit(wire) : 0; });
    if (!odd) return;
    int least = lowest(odd);
    each(odd, [&](int wire) { least = count(product(wire)) < count(product(least)) ? wire : least; });
    alive_ ^= unit(least);
    each(odd & alive_, [&](int wire) { product(wire) ^= product(least); });
}

// Returns what all strings have in common that differ by products.
Mask Zeros::rest(Mask z) {
    each(z & alive_, [&](int wire) { z ^= product(wire); });
    return z;
}

Mask Zeros::lightest(Mask x, Mask z) {
    const auto weight = [&](Mask of) { return 64 * count(x | of) + count(of); };
    for (bool lighter = true; lighter;) {
        lighter = false;
        each(alive_, [&](int wire) {
            const Mask other = z ^ product(wire);
            if (weight(other) < weight(z)) z = other, lighter = true;
        });
    }
    return z;
}

Index Zeros::name_of(const Pauli& pauli) {
    for (std::uint64_t key = plan::mixed(pauli.x) ^ plan::mixed(pauli.z + 1);; key = plan::mixed(key + 1)) {
        Index& known = names_[key];
        if (known == plan::Memo::none) {
            known = static_cast<Index>(strings_.size());
            strings_.push_back(pauli), same_.push_back(pauli.z);
            return known;
        }
        if (strings_[known] == pauli) return known;
    }
}

SignedPauli Zeros::same(const Pauli& pauli) {
    if (!alive_) return {pauli};
    const Pauli left{pauli.x, rest(pauli.z)};
    const std::size_t known = strings_.size(), name = name_of(left);
    Mask& z = same_[name];
    if (name == known || rest(z) != left.z) z = lightest(pauli.x, pauli.z);  // there may be fewer products since
    return SignedPauli{pauli} * SignedPauli{{0, pauli.z ^ z}};
}

}  // namespace qx::form
