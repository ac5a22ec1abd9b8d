// Gates on the same two wires, as few rotations about XX, YY and ZZ.

#include "planner/form/clusters/pair.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace qx::form {

namespace {

constexpr double half = std::numbers::pi / 2, rounding = 1e-12;
constexpr std::size_t least = 2;  // pieces

// What is left of an angle about PP without operators of single wires, exp(i π/2 PP) = i P P.
double rest_of(double angle) { return angle - half * std::nearbyint(angle / half); }

std::array<double, 3> rests_of(const Weyl& pair) {
    std::array<double, 3> out;
    for (std::size_t k = 0; k < 3; ++k) out[k] = rest_of(pair.angles[k]);
    return out;
}

// Returns which angle is beside two that are the same, but for signs, and not 0; else 3.
std::size_t other_than_equal(const std::array<double, 3>& rests) {
    for (std::size_t k = 3; k-- > 0;) {
        const double a = std::fabs(rests[k == 0 ? 1 : 0]), b = std::fabs(rests[k == 2 ? 1 : 2]);
        if (a > rounding && std::fabs(a - b) <= rounding) return k;
    }
    return 3;
}

// Whether wires change places before a matrix that mixes by an angle, since a smaller one is left then.
bool swaps(double angle) { return std::fabs(angle) > half / 4; }

Weyl weyl_of(const Cluster& of, std::size_t& work) {
    Segment whole;
    std::vector<int> wires;
    each(of.wires, [&](int wire) { wires.push_back(wire), whole.add_wire(); });
    for (const Piece& piece : of.pieces) {
        act(piece, whole, wires);
        work += whole.size();
    }
    return Weyl(whole.dense().data());
}

}  // namespace

std::size_t fewest_on_two(const Cluster& of, std::size_t& work) {
    if (of.pieces.size() < least) return of.pieces.size();
    const std::array<double, 3> rests = rests_of(weyl_of(of, work));
    if (other_than_equal(rests) < 3) return 1;
    const auto some = std::count_if(rests.begin(), rests.end(), [](double one) { return std::fabs(one) > rounding; });
    return static_cast<std::size_t>(some);
}

std::optional<Weyl> find_pair(const Cluster& of, std::size_t& work) {
    const std::size_t number = of.pieces.size();
    if (number < least || count(of.wires) != 2) return {};
    const Weyl out = weyl_of(of, work);
    const std::array<double, 3> rests = rests_of(out);
    const std::size_t alone = other_than_equal(rests);
    if (alone == 3 || (number == least && of.is_rest && swaps(rests[alone == 2 ? 0 : 2])))
        return {};  // perhaps two of three
    return out;
}

namespace {

// What is left of a turn, for a choice among several: nothing of phases, which pass what comes next, and little of X.
double cost(const Matrix2& turn) {
    return std::norm(turn[1]) < rounding * rounding ? 0 : std::norm(turn[0]) < rounding * rounding ? 0.3 : 1;
}

// Puts what one pair is, with turns before and behind it.
class Pair {
  public:
    Pair(const Cluster& of, Pieces& to) : wires_(of.wires), on_{lowest(of.wires), highest(of.wires)}, to_(to) {
        for (const Piece& piece : of.pieces) parts_ += piece.parts;
    }

    void put(const Weyl& pair) {
        for (std::size_t k = 0; k < 2; ++k) before_[k] = matrix_of(pair.before[k]);
        to_.add_phase(pair.phase);
        const std::array<double, 3> rests = rests_of(pair);
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const auto halves = std::lround((pair.angles[axis] - rests[axis]) / half);
            to_.add_phase(static_cast<double>(halves) * half);
            if (halves % 2)
                for (Matrix2& one : before_) one = operators_[axis] * one;
        }
        const std::size_t alone = other_than_equal(rests);
        const Matrix2 turned = alone == 2 ? identity2 : alone == 0 ? to_zs_[0] : to_zs_[1];
        for (std::size_t k = 0; k < 2; ++k) around(k, turned);
        double a = rests[alone == 2 ? 0 : 2], c = rests[alone];
        if (std::fabs(a - rests[alone == 1 ? 0 : 1]) > rounding) around(0, operators_[0]), c = -c;
        if (std::fabs(a + c) <= rounding) around(0, operators_[2]), a = -a;
        for (std::size_t k = 0; k < 2; ++k) behind_[k] = matrix_of(pair.after[k]) * behind_[k];
        choose_turns(std::fabs(a - c) <= rounding);
        mix(a, c);
        for (std::size_t k = 0; k < 2; ++k) turn(k, behind_[k]);
    }

  private:
    void turn(std::size_t which, const Matrix2& by) { to_.carried(on_[which]) = by * to_.carried(on_[which]); }
    void around(std::size_t which, const Matrix2& by) {
        before_[which] = by * before_[which], behind_[which] = behind_[which] * adjoint(by);
    }

    void put_piece(Piece piece) {
        piece.wires = wires_, piece.parts = parts_;
        to_.put(std::move(piece), false);
    }

    // Turns what is before, and what acts on the wires before that, so that few turns are left. X of both wires passes what
    // is between, and if all angles are the same, so does any turn of both.
    void choose_turns(bool any) {
        for (std::size_t k = 0; k < 2; ++k) before_[k] = before_[k] * to_.carried(on_[k]);
        std::vector<Matrix2> turns{identity2, operators_[0]};
        if (any) turns = {identity2, before_[0], before_[1], adjoint(behind_[0]), adjoint(behind_[1])};
        const auto left = [&](const Matrix2& by) {
            double out = 0;
            for (std::size_t k = 0; k < 2; ++k) out += cost(adjoint(by) * before_[k]) + cost(behind_[k] * by);
            return out;
        };
        const Matrix2 best = *std::min_element(turns.begin(), turns.end(), [&](const Matrix2& one, const Matrix2& other) {
            return left(one) < left(other) - rounding;
        });
        for (std::size_t k = 0; k < 2; ++k) {
            to_.carried(on_[k]) = adjoint(best) * before_[k];
            behind_[k] = behind_[k] * best;
        }
    }

    // exp(i (a XX + a YY + c ZZ)): a matrix that mixes 01 and 10, and wires that change places if that leaves a smaller
    // angle.
    void mix(double a, double c) {
        if (swaps(a)) {
            const double by = std::copysign(half / 2, a);
            a -= by, c -= by, to_.add_phase(by);
            put_piece({Piece::swap, 0});
        }
        if (std::fabs(a) > rounding) {
            const Complex same = std::polar(1.0, c), stays = std::cos(2 * a) * std::polar(1.0, -c);
            const Complex mixes = std::sin(2 * a) * std::polar(1.0, half - c);
            put_piece({Piece::pair,
                       0,
                       0,
                       0,
                       {identity2, identity2},
                       {same, 0, 0, 0, 0, stays, mixes, 0, 0, mixes, stays, 0, 0, 0, 0, same}});
        } else if (std::fabs(c) > rounding) {
            put_piece({Piece::parity, 0, -2 * c, 0, {identity2, identity2}});
        }
    }

    const Matrix2 operators_[3] = {operator_matrix(true, false), operator_matrix(true, true), operator_matrix(false, true)};
    const Matrix2 to_zs_[3] = {to_z(true, false), to_z(true, true), identity2};
    std::array<Matrix2, 2> before_{identity2, identity2}, behind_{identity2, identity2};
    Mask wires_;
    int on_[2];
    std::size_t parts_ = 0;
    Pieces& to_;
};

}  // namespace

void put_pair(const Cluster& of, const Weyl& pair, Pieces& to) { Pair(of, to).put(pair); }

}  // namespace qx::form
