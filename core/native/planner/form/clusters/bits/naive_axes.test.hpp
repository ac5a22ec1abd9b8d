// What pieces by their axes do to states, by definition.
#pragma once

#include "planner/form/clusters/bits/axis.hpp"
#include "planner/form/clusters/naive_phases.test.hpp"

namespace qx::form::naive {

// By definition: of the projection to where all operators are -1, or of their product.
inline State applied(const AxisPiece& piece, const State& to) {
    State part = to;
    each(piece.wires, [&](int wire) {
        const State image = turned(part, wire, operator_about(piece.axis_of(wire)));
        for (std::size_t k = 0; k < part.size(); ++k) part[k] = piece.is_parity ? image[k] : (part[k] - image[k]) / 2.0;
    });
    State out = to;
    const double half = piece.angle / 2;
    for (std::size_t k = 0; k < out.size(); ++k)
        out[k] = piece.is_parity ? std::cos(half) * to[k] - Complex(0, std::sin(half)) * part[k]
                                 : to[k] + (std::polar(1.0, piece.angle) - 1.0) * part[k];
    return out;
}

}  // namespace qx::form::naive
