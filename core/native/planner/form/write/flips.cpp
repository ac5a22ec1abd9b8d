// Which phases under controls are written as X, or as a turn, of one of their wires.

#include "planner/form/write/flips.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace qx::form {

namespace {

constexpr double root = std::numbers::sqrt2 / 2, rounding = 1e-12;
// Costs of X under one control or two, and under more, for phases under many may be of any wires, near or far; of a turn
// under controls, and of phases and X of a wire alone; a turn has 1.
constexpr double of_flip = 0.5, of_wide_flip = 0.9, of_turn = 0.6, of_small = 0.3;
constexpr int few_wires = 3;

bool is_sign(const Piece& piece) {
    return piece.kind == Piece::where && std::fabs(std::fabs(piece.angle) - std::numbers::pi) < rounding;
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

Matrix2 turn_under_controls(const Piece& piece, int wire, const Matrix2& before) {
    const Complex by = std::polar(1.0, piece.angle);
    const bool value = piece.values >> wire & 1;
    return adjoint(before) * Matrix2{value ? 1 : by, 0, 0, value ? by : 1} * before;
}

namespace {

// The choices along a wire, with the least costs so far.
class Choices {
  public:
    enum Choice : std::size_t { phase, flip, turn };

    Choices(int wire, std::vector<Target>& out) : wire_(wire), out_(out) {}

    // Goes on to a piece, or to what acts behind all.
    void step(const Matrix2& turn_before, const Piece* piece, Index number) {
        const bool may = piece && out_[number].wire < 0;
        const std::array<bool, 3> allowed{true, may && is_sign(*piece), may && piece->kind == Piece::where};
        const double flip_costs = piece && count(piece->wires) > few_wires ? of_wide_flip : of_flip;
        const Matrix2 frame = allowed[flip] ? flip_frame(*piece, wire_) : identity2;
        std::array<double, 3> now{HUGE_VAL, HUGE_VAL, HUGE_VAL};
        std::array<Matrix2, 3> behind{identity2, adjoint(frame), identity2};
        before_.push_back({});
        for (const Choice to : {phase, flip, turn})
            for (std::size_t from = 0; allowed[to] && from < 3; ++from) {
                if (least_[from] >= now[to]) continue;
                const Matrix2 own = turn_before * behind_[from];
                const double sum = least_[from] + (to == phase  ? cost(own, piece && piece->joins())
                                                   : to == flip ? flip_costs + cost(frame * own, false)
                                                                : of_turn);
                if (sum >= now[to]) continue;
                now[to] = sum, before_.back()[to] = from;
                if (to == turn) behind[turn] = own;
            }
        least_ = now, behind_ = behind;
    }
    // Writes what was chosen of the pieces, given by their numbers.
    void end(const std::vector<Index>& pieces) {
        std::size_t choice = before_.back()[phase];
        for (std::size_t k = pieces.size(); k-- > 0; choice = before_[k][choice])
            if (choice != phase) out_[pieces[k]] = {wire_, choice == turn};
    }

  private:
    int wire_;
    std::vector<Target>& out_;
    std::array<double, 3> least_{0, HUGE_VAL, HUGE_VAL};
    std::array<Matrix2, 3> behind_{identity2, identity2, identity2};  // what the last piece leaves
    std::vector<std::array<std::size_t, 3>> before_;  // for each piece and choice, the choice before it
};

}  // namespace

std::vector<Target> targets(const Pieces& of) {
    std::vector<Target> out(of.all.size());
    std::vector<std::vector<Index>> on_wire(of.carried().size());
    for (Index k = 0; k < of.all.size(); ++k)
        each(of.all[k].wires, [&](int wire) { on_wire[static_cast<std::size_t>(wire)].push_back(k); });
    for (std::size_t at = 0; at < on_wire.size(); ++at) {
        const int wire = static_cast<int>(at);
        Choices choices(wire, out);
        for (const Index k : on_wire[at]) choices.step(turn_before(of.all[k], wire), &of.all[k], k);
        choices.step(of.carried()[at], nullptr, 0);
        choices.end(on_wire[at]);
    }
    return out;
}

Int percent_of_turns(const Pieces& of, const std::vector<Target>& targets) {
    constexpr Index none = ~Index{0};
    std::vector<Index> last(of.carried().size(), none);  // on each wire
    std::vector<bool> turns(of.all.size());
    for (Index k = 0; k < of.all.size(); ++k) {
        const Mask wires = of.all[k].wires;
        const Index before = last[static_cast<std::size_t>(lowest(wires))];
        const bool follows = before != none && before == last[static_cast<std::size_t>(highest(wires))];
        turns[k] = targets[k].turns && count(wires) == 2 && !follows;
        if (follows) turns[before] = false;
        each(wires, [&](int wire) { last[static_cast<std::size_t>(wire)] = k; });
    }
    const auto number = static_cast<Int>(std::count(turns.begin(), turns.end(), true));
    return 100 * number / std::max<Int>(1, static_cast<Int>(of.all.size()));
}

}  // namespace qx::form
