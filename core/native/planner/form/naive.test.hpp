// What Pauli strings and turns do to states, by definition.
#pragma once

#include <doctest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "planner/form/pauli.hpp"

namespace qx::form::naive {

using State = std::vector<std::complex<double>>;

constexpr double near_enough = 1e-13;

// Applies i^|x & z| X^x Z^z.
inline State applied(const Pauli& pauli, const State& to) {
    constexpr std::complex<double> powers[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    State out(to.size());
    for (std::size_t k = 0; k < to.size(); ++k)
        out[k ^ pauli.x] = powers[(count(pauli.x & pauli.z) + 2 * count(pauli.z & k)) & 3] * to[k];
    return out;
}

inline State applied(const SignedPauli& pauli, const State& to) {
    State out = applied(pauli.pauli, to);
    if (pauli.negative)
        for (auto& one : out) one = -one;
    return out;
}

// Applies exp(-i angle/2 P).
inline State rotated(const Pauli& pauli, double angle, const State& to) {
    State out = applied(pauli, to);
    for (std::size_t k = 0; k < to.size(); ++k)
        out[k] = std::cos(angle / 2) * to[k] - std::complex<double>(0, std::sin(angle / 2)) * out[k];
    return out;
}

// The largest difference of two amplitudes, which is not a number if one is none.
inline double distance(const State& a, const State& b) {
    double out = 0;
    for (std::size_t k = 0; k < a.size() && !std::isnan(out); ++k)
        if (const double own = std::abs(a[k] - b[k]); !(own <= out)) out = own;
    return out;
}

// Draws strings, angles and states of a few wires.
class Drawn {
  public:
    Drawn(unsigned seed, int wires) : wires(wires), random_(seed) {}

    const int wires;

    std::uint64_t below(std::uint64_t end) { return random_() % end; }
    double angle() { return std::uniform_real_distribution<>(-7, 7)(random_); }
    // Of all strings but that of no letters.
    Pauli pauli() {
        Pauli out;
        while (out.is_identity()) out = {below(unit(wires)), below(unit(wires))};
        return out;
    }
    State state() {
        State out(unit(wires));
        for (auto& one : out) one = {angle(), angle()};
        return out;
    }

  private:
    std::mt19937_64 random_;
};

}  // namespace qx::form::naive
