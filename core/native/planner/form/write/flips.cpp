// Which phases under controls are written as X, or as a turn, of one of their wires.

#include "planner/form/write/flips.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace qx::form {

namespace {

constexpr double root = std::numbers::sqrt2 / 2, rounding = 1e-12;
// Costs of X under one control or two, and under more, for phases under many may be of any wires, near or far; of a turn
// under controls, and of one that leaves a phase, of phases and X of a wire alone, and of a sign under controls; a turn
// has 1.
constexpr double of_flip = 0.5, of_wide_flip = 0.9, of_turn = 0.6, of_turn_with_phase = 0.8, of_small = 0.3, of_sign = 0.05;
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

bool passes_flip(const Matrix2& turn) {
    const Complex beside = 1.0 + turn[1] + turn[2];  // a division takes longer than this
    return is_identity({beside, 0, 0, 1}) && is_identity({beside, 0, 0, -turn[3] / turn[0]});
}

Matrix2 turn_before(const Piece& piece, int wire) { return piece.has_turns() ? piece.turn_of(wire) : identity2; }

Matrix2 flip_frame(const Piece& piece, int wire, bool inverts) {
    const double sign = piece.values >> wire & 1 ? root : -root;  // X where the wire is 0 is Z X Z where it is 1
    return inverts ? Matrix2{sign, -sign, root, root} : Matrix2{root, root, sign, -sign};
}

Matrix2 own_phase(const Piece& piece, int wire) {
    const Complex by = std::polar(1.0, piece.angle);
    const bool value = piece.values >> wire & 1;
    return {value ? 1 : by, 0, 0, value ? by : 1};
}

Matrix2 turn_under_controls(const Piece& piece, int wire, const Matrix2& before, bool inverts) {
    const Matrix2 phases = own_phase(piece, wire);
    return adjoint(before) * (inverts ? adjoint(phases) : phases) * before;
}

namespace {

// The choices along a wire, with the least costs so far.
class Choices {
  public:
    enum Choice : std::size_t { phase, flip, inverted_flip, turn, inverted_turn };
    static constexpr std::size_t choices = 5;

    Choices(int wire, double of_cx, std::vector<Target>& out) : wire_(wire), of_cx_(of_cx), out_(out) {}

    // Goes on to a piece, or to what acts behind all.
    void step(const Matrix2& turn_before, const Piece* piece, Index number) {
        const bool may = piece && out_[number].wire < 0;
        const bool flips = may && is_sign(*piece);
        const bool turns = may && piece->kind == Piece::where;
        const int wires = piece ? count(piece->wires) : 0;
        const std::array<bool, choices> allowed{true, flips, flips, turns, turns && wires == 2};
        const double flip_costs = wires > few_wires ? of_wide_flip : wires > 2 ? of_flip : of_cx_;
        const double sign_costs = wires > 2 ? of_sign : 0;
        std::array<double, choices> now;
        now.fill(HUGE_VAL);
        std::array<Matrix2, choices> behind = nothing;
        before_.push_back({});
        std::array<Matrix2, choices> owns;  // what acts before the piece, for each choice of the one before it
        for (std::size_t from = 0; from < choices; ++from)
            if (least_[from] < HUGE_VAL) owns[from] = turn_before * behind_[from];
        for (const Choice to : {phase, flip, inverted_flip, turn, inverted_turn}) {
            const bool is_flip = to == flip || to == inverted_flip, is_turn = to == turn || to == inverted_turn;
            const double turn_costs = to == turn || flips ? of_turn : of_turn_with_phase;
            const double costs = is_flip ? flip_costs : is_turn ? turn_costs : 0;  // at least
            const Matrix2 frame = allowed[to] && is_flip ? flip_frame(*piece, wire_, to == inverted_flip) : identity2;
            for (std::size_t from = 0; allowed[to] && from < choices; ++from) {
                if (least_[from] + costs >= now[to]) continue;
                const Matrix2 &own = owns[from], framed = is_flip ? frame * own : own;
                const bool passes = is_flip && passes_flip(framed);
                const double sum = least_[from] + (to == phase ? cost(own, piece && piece->joins())
                                                   : is_turn   ? turn_costs
                                                   : passes    ? flip_costs + sign_costs
                                                               : flip_costs + cost(framed, false));
                if (sum >= now[to]) continue;
                now[to] = sum, before_.back()[to] = from;
                if (to == inverted_turn) behind[to] = own_phase(*piece, wire_) * own;
                else if (to != phase) behind[to] = is_turn || passes ? own : adjoint(frame);
            }
        }
        least_ = now, behind_ = behind;
    }
    // Writes what was chosen of the pieces, given by their numbers, and returns what it costs.
    double end(const std::vector<Index>& pieces) {
        std::size_t choice = before_.back()[phase];
        for (std::size_t k = pieces.size(); k-- > 0; choice = before_[k][choice])
            if (choice != phase)
                out_[pieces[k]] = {wire_, choice >= turn, choice == inverted_flip || choice == inverted_turn};
        return least_[phase];
    }

  private:
    static constexpr std::array<Matrix2, choices> nothing{identity2, identity2, identity2, identity2, identity2};

    int wire_;
    double of_cx_;
    std::vector<Target>& out_;
    std::array<double, choices> least_{0, HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
    std::array<Matrix2, choices> behind_ = nothing;  // what the last piece leaves
    std::vector<std::array<std::size_t, choices>> before_;  // for each piece and choice, the choice before it
};

}  // namespace

std::vector<Target> targets(const Pieces& of, bool cx_is_free) {
    const std::size_t wires = of.carried().size();
    std::vector<std::vector<Index>> on_wire(wires);
    for (Index k = 0; k < of.all.size(); ++k)
        each(of.all[k].wires, [&](int wire) { on_wire[static_cast<std::size_t>(wire)].push_back(k); });
    std::vector<Target> best;
    double least = HUGE_VAL;
    for (const bool backwards : {false, true}) {  // which of the wires of a piece may choose first
        std::vector<Target> out(of.all.size());
        double sum = 0;
        for (std::size_t k = 0; k < wires; ++k) {
            const std::size_t at = backwards ? wires - 1 - k : k;
            const int wire = static_cast<int>(at);
            Choices choices(wire, cx_is_free ? 0 : of_flip, out);
            for (const Index piece : on_wire[at]) choices.step(turn_before(of.all[piece], wire), &of.all[piece], piece);
            choices.step(of.carried()[at], nullptr, 0);
            sum += choices.end(on_wire[at]);
        }
        if (sum < least) best = std::move(out), least = sum;
    }
    return best;
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
