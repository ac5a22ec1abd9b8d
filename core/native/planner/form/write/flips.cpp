// Which signs under controls are written as X of one of their wires.

#include "planner/form/write/flips.hpp"

#include <cmath>
#include <numbers>

namespace qx::form {

namespace {

constexpr double root = std::numbers::sqrt2 / 2, rounding = 1e-12;
constexpr int most_wires = 3;      // of X under controls; under more, phases may be of any wires, near or far
constexpr double of_flip = 0.5, of_small = 0.3;  // costs of X, and of phases and X of a wire alone; a turn has 1

bool is_sign(const Piece& piece) {
    return piece.kind == Piece::where && count(piece.wires) <= most_wires &&
           std::fabs(std::fabs(piece.angle) - std::numbers::pi) < rounding;
}

// What a turn costs. passes: whether phases behind it pass what comes next.
double cost(const Matrix2& turn, bool passes) {
    if (std::norm(turn[0]) < rounding * rounding) return of_small;
    if (std::norm(turn[1]) > rounding * rounding) return 1;
    return passes || std::norm(turn[3] / turn[0] - Complex(1)) < rounding * rounding ? 0 : of_small;
}

}  // namespace

Matrix2 turn_before(const Piece& piece, int wire) { return piece.has_turns() ? piece.turn_of(wire) : identity2; }

Matrix2 flip_frame(const Piece& piece, int wire) {
    const double sign = piece.values >> wire & 1 ? 1 : -1;  // X where the wire is 0 is Z X Z where it is 1
    return {root, root, sign * root, -sign * root};
}

std::vector<int> flipped_wires(const Pieces& of) {
    std::vector<int> out(of.all.size(), -1);
    std::vector<std::vector<Index>> on_wire(of.carried().size());
    for (Index k = 0; k < of.all.size(); ++k)
        each(of.all[k].wires, [&](int wire) { on_wire[static_cast<std::size_t>(wire)].push_back(k); });
    for (std::size_t at = 0; at < on_wire.size(); ++at) {
        const int wire = static_cast<int>(at);
        std::array<double, 2> least{0, HUGE_VAL};  // so far, where the last piece is as it was, and where it flips
        std::array<Matrix2, 2> behind{identity2, identity2};  // what the last piece leaves
        std::vector<std::array<bool, 2>> before;  // for each piece and choice, the choice before it
        const auto step = [&](const Matrix2& turn, const Piece* piece) {
            const bool may = piece && is_sign(*piece) && out[static_cast<std::size_t>(piece - of.all.data())] < 0;
            std::array<double, 2> now{HUGE_VAL, HUGE_VAL};
            const std::array<Matrix2, 2> frames{identity2, may ? flip_frame(*piece, wire) : identity2};
            before.push_back({});
            for (std::size_t to = 0; to <= may; ++to)
                for (std::size_t from = 0; from < 2; ++from) {
                    const double sum = least[from] + cost(frames[to] * turn * behind[from], !to && piece && piece->joins());
                    if (to * of_flip + sum < now[to]) now[to] = to * of_flip + sum, before.back()[to] = from;
                }
            least = now, behind = {identity2, adjoint(frames[1])};
        };
        for (const Index k : on_wire[at]) step(turn_before(of.all[k], wire), &of.all[k]);
        step(of.carried()[at], nullptr);
        bool choice = before.back()[0];
        for (std::size_t k = on_wire[at].size(); k-- > 0; choice = before[k][choice])
            if (choice) out[on_wire[at][k]] = wire;
    }
    return out;
}

}  // namespace qx::form
