// Matrices that are Clifford operators.

#include "planner/form/gates/local_clifford.hpp"

#include <algorithm>
#include <cmath>

namespace qx::form {

namespace {

constexpr Complex powers_of_i[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};

// The entry of a Pauli string in a column; its row is column ^ x.
Complex entry(const Pauli& of, Mask column) { return powers_of_i[(count(of.x & of.z) + 2 * count(of.z & column)) & 3]; }

// Returns whether U† P U is a Pauli string or its negative, which is written.
bool image(const Complex* u, int wires, double tolerance, const Pauli& p, SignedPauli& out, double& off) {
    const Mask size = unit(wires);
    std::vector<Complex> found(size * size);
    for (Mask row = 0; row < size; ++row)
        for (Mask column = 0; column < size; ++column)
            for (Mask k = 0; k < size; ++k)
                found[row * size + column] += std::conj(u[(k ^ p.x) * size + row]) * entry(p, k) * u[k * size + column];
    out = {};
    while (std::abs(found[out.pauli.x * size]) < 0.5)
        if (++out.pauli.x == size) return false;
    const Complex first = found[out.pauli.x * size];
    for (int wire = 0; wire < wires; ++wire)
        if ((found[(unit(wire) ^ out.pauli.x) * size + unit(wire)] / first).real() < 0) out.pauli.z |= unit(wire);
    out.negative = (first / entry(out.pauli, 0)).real() < 0;
    for (Mask row = 0; row < size; ++row)
        for (Mask column = 0; column < size; ++column) {
            const bool there = row == (column ^ out.pauli.x);
            const Complex wanted = there ? entry(out.pauli, column) * (out.negative ? -1.0 : 1.0) : 0;
            const double by = std::abs(found[row * size + column] - wanted);
            if (by > tolerance) return false;
            off = std::max(off, by);
        }
    return true;
}

}  // namespace

bool find_clifford(const Complex* matrix, int wires, double tolerance, LocalClifford& out) {
    Tableau tableau(wires);
    for (int wire = 0; wire < wires; ++wire) {
        SignedPauli x, z;
        if (!image(matrix, wires, tolerance, {unit(wire), 0}, x, out.off) ||
            !image(matrix, wires, tolerance, {0, unit(wire)}, z, out.off))
            return false;
        tableau.set_x(wire, x), tableau.set_z(wire, z);
    }
    out.turns = quarter_turns(std::move(tableau));
    const Mask size = unit(wires);  // the phase is that of the first column
    std::vector<Complex> state(size), next(size);
    state[0] = 1;
    for (const QuarterTurn& turn : out.turns) {
        const double angle = turn.quarters * 0.78539816339744830962;
        for (Mask k = 0; k < size; ++k) {
            const Mask from = k ^ turn.pauli.x;
            next[k] = std::cos(angle) * state[k] - Complex(0, std::sin(angle)) * entry(turn.pauli, from) * state[from];
        }
        state.swap(next);
    }
    Complex overlap = 0;
    for (Mask k = 0; k < size; ++k) overlap += std::conj(state[k]) * matrix[k * size];
    out.phase = std::arg(overlap);
    return true;
}

}  // namespace qx::form
