// Gates on the same two wires, as few rotations about XX, YY and ZZ.

#include "planner/form/clusters/pair.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace qx::form {

namespace {

constexpr double half = std::numbers::pi / 2, rounding = 1e-11;
constexpr std::size_t least = 2;  // pieces

Matrix2 matrix_of(const Turn& of) {
    const auto& [x, y, z] = of.v;
    return {Complex(of.w, -z), Complex(-y, -x), Complex(y, -x), Complex(of.w, z)};
}

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

}  // namespace

std::optional<Weyl> find_pair(const Cluster& of, std::size_t& work) {
    const std::size_t number = of.pieces.size();
    if (number < least || count(of.wires) != 2) return {};
    Segment whole;
    std::vector<int> wires;
    each(of.wires, [&](int wire) { wires.push_back(wire), whole.add_wire(); });
    for (const Piece& piece : of.pieces) {
        act(piece, whole, wires);
        work += whole.size();
    }
    const Weyl out(whole.dense().data());
    const std::array<double, 3> rests = rests_of(out);
    const std::size_t alone = other_than_equal(rests);
    if (alone == 3 || (number == least && of.is_rest && swaps(rests[alone == 2 ? 0 : 2])))
        return {};  // perhaps two of three
    return out;
}

namespace {

// Puts what one pair is, with turns between its rotations.
class Pair {
  public:
    Pair(const Cluster& of, Pieces& to) : wires_(of.wires), on_{lowest(of.wires), highest(of.wires)}, to_(to) {
        for (const Piece& piece : of.pieces) parts_ += piece.parts;
    }

    void put(const Weyl& pair) {
        for (std::size_t k = 0; k < 2; ++k) turn(k, matrix_of(pair.before[k]));
        to_.phase += pair.phase;
        const std::array<double, 3> rests = rests_of(pair);
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const auto halves = std::lround((pair.angles[axis] - rests[axis]) / half);
            to_.phase += static_cast<double>(halves) * half;
            if (halves % 2) both(operators_[axis]);
        }
        mix(rests, other_than_equal(rests));
        for (std::size_t k = 0; k < 2; ++k) turn(k, matrix_of(pair.after[k]));
    }

  private:
    void turn(std::size_t which, const Matrix2& by) { to_.carried(on_[which]) = by * to_.carried(on_[which]); }
    void both(const Matrix2& by) { turn(0, by), turn(1, by); }

    void put_piece(Piece piece) {
        piece.wires = wires_, piece.parts = parts_;
        to_.put(std::move(piece), false);
    }

    // exp(i (a XX + b YY + c ZZ)) where two angles are the same but for signs: a matrix that mixes 01 and 10, and wires that
    // change places if that leaves a smaller angle.
    void mix(const std::array<double, 3>& rests, std::size_t alone) {
        const Matrix2 turned = alone == 2 ? identity2 : alone == 0 ? to_zs_[0] : to_zs_[1];
        double a = rests[alone == 2 ? 0 : 2], c = rests[alone];
        const double b = rests[alone == 1 ? 0 : 1];
        const bool differ = std::fabs(a - b) > rounding;
        if (differ) c = -c;
        both(turned);
        if (differ) turn(0, operators_[0]);
        if (swaps(a)) {
            const double by = std::copysign(half / 2, a);
            a -= by, c -= by, to_.phase += by;
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
        if (differ) turn(0, operators_[0]);
        both(adjoint(turned));
    }

    const Matrix2 operators_[3] = {operator_matrix(true, false), operator_matrix(true, true), operator_matrix(false, true)};
    const Matrix2 to_zs_[3] = {to_z(true, false), to_z(true, true), identity2};
    Mask wires_;
    int on_[2];
    std::size_t parts_ = 0;
    Pieces& to_;
};

}  // namespace

void put_pair(const Cluster& of, const Weyl& pair, Pieces& to) { Pair(of, to).put(pair); }

}  // namespace qx::form
