// Phases of the same wires as one, where nothing between turns these.

#include "planner/form/clusters/toffolis/merged_phases.hpp"

#include <cmath>
#include <map>
#include <numbers>

#include "planner/form/gates/rounding.hpp"

namespace qx::form {

Pieces with_merged_phases(const Pieces& given) {
    std::vector<std::size_t> frames(given.carried().size(), 0);
    std::map<std::vector<std::size_t>, Index> known;
    std::vector<Piece> all = given.all;
    for (Index k = 0; k < all.size(); ++k) {
        Piece& piece = all[k];
        std::vector<std::size_t> key{piece.kind, piece.wires, piece.values};
        bool turns = false;
        each(piece.wires, [&](int wire) {
            std::size_t& frame = frames[static_cast<std::size_t>(wire)];
            if (!piece.joins() || !is_nothing(piece.turn_of(wire))) frame = 2 * k + 1, turns = true;
            key.push_back(frame);
            if (!piece.joins()) frame = 2 * k + 2;
        });
        if (!piece.joins()) continue;
        const auto [at, is_new] = known.try_emplace(key, k);
        if (is_new || turns) continue;
        Piece& first = all[at->second];
        first.angle += piece.angle, first.parts += piece.parts;
        if (piece.kind == Piece::where) first.angle = std::remainder(first.angle, 2 * std::numbers::pi);
        piece.wires = 0;
    }
    Pieces out(static_cast<int>(frames.size()), false);
    out.phase = given.phase, out.nothing = given.nothing;
    for (Piece& piece : all) {
        const bool is_none = piece.wires && piece.kind == Piece::where && std::fabs(piece.angle) < Rounding::of_one;
        if (is_none) {
            each(piece.wires, [&](int wire) { out.carried(wire) = piece.turn_of(wire) * out.carried(wire); });
            out.nothing += piece.parts;
        } else if (piece.wires) {
            out.put(std::move(piece), true);
        }
    }
    for (std::size_t wire = 0; wire < frames.size(); ++wire)
        out.carried(static_cast<int>(wire)) = given.carried()[wire] * out.carried(static_cast<int>(wire));
    return out;
}

}  // namespace qx::form
