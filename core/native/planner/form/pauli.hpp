// Pauli strings of up to 64 wires: which wires have X, which Z; both is Y.
//
// A Pauli stands for the Hermitian product i^|x & z| X^x Z^z, of which each wire has I, X, Z or Y.
#pragma once

#include "base/masks.hpp"

namespace qx::form {

using plan::below;
using plan::count;
using plan::each;
using plan::highest;
using plan::Index;
using plan::lowest;
using plan::Mask;
using plan::unit;

inline bool is_odd(Mask mask) { return count(mask) & 1; }

struct Pauli {
    Mask x = 0;
    Mask z = 0;

    bool operator==(const Pauli&) const = default;
    Pauli& operator^=(const Pauli& other) { return x ^= other.x, z ^= other.z, *this; }
    // An order in which Z of few wires comes first, so that products that are diagonal stand before others.
    bool operator<(const Pauli& other) const { return x != other.x ? x < other.x : z < other.z; }
    bool is_identity() const { return !(x | z); }
};

// A Pauli string or its negative.
struct SignedPauli {
    Pauli pauli;
    bool negative = false;
};

inline bool anticommute(const Pauli& a, const Pauli& b) { return is_odd((a.x & b.z) ^ (a.z & b.x)); }

// Returns -i a b of two that anticommute, which is Hermitian.
inline SignedPauli third(const Pauli& a, const Pauli& b) {
    const Pauli c{a.x ^ b.x, a.z ^ b.z};
    const int power = count(a.x & a.z) + count(b.x & b.z) + 2 * count(a.z & b.x) - count(c.x & c.z) + 3;
    return {c, (power & 2) != 0};
}

// Returns the product of two that commute.
inline SignedPauli operator*(const SignedPauli& a, const SignedPauli& b) {
    const Pauli &p = a.pauli, &q = b.pauli, c{p.x ^ q.x, p.z ^ q.z};
    const int power = count(p.x & p.z) + count(q.x & q.z) + 2 * count(p.z & q.x) - count(c.x & c.z);
    return {c, (a.negative != b.negative) != ((power & 2) != 0)};
}

// Lets A be K† A K for the quarter turns K about another string; returns whether it is another one.
inline bool turn(SignedPauli& a, const Pauli& about, int quarters) {
    quarters &= 3;
    if (!quarters || !anticommute(a.pauli, about)) return false;
    if (quarters == 2) return a.negative ^= true, true;
    const SignedPauli turned = third(a.pauli, about);
    a = {turned.pauli, a.negative != (turned.negative != (quarters == 3))};
    return true;
}

}  // namespace qx::form
