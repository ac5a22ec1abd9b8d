// Turns of one wire under conditions of two others.
//
// What mixes one wire of three is a turn of it for each value of the other two. Behind the turn that is the one for most
// values, each other one is a phase, where these have its value, of the wire about some axis.

#include "planner/form/clusters/blocks/conditional.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/form/gates/turn.hpp"

namespace qx::form {

namespace {

constexpr double rounding = 1e-11;
constexpr double most_beside = 1e-13;  // that moves between values of wires that are read
constexpr std::size_t wires = 3, values = 4;

bool is_none(double angle) { return std::fabs(short_way(angle)) < rounding; }

// Whether two turns are the same but for a phase.
bool is_same(const Matrix2& one, const Matrix2& other) {
    const Matrix2 apart = one * adjoint(other);
    return std::norm(apart[1]) + std::norm(apart[2]) + std::norm(apart[0] - apart[3]) < rounding * rounding;
}

// The bits of the two wires that are not mixed.
std::array<std::size_t, 2> others(std::size_t mixed) { return {mixed == 0 ? 1u : 0u, mixed == 2 ? 1u : 2u}; }

// A matrix as phases of the values of a wire behind a turn, which is undone behind them.
struct Phases {
    Matrix2 turn;
    double zero, one;
};

Phases phases_of(const Matrix2& of) {
    double phase = 0;
    const Turn turn = Turn::of(of.data(), phase);
    const auto [x, y, z] = turn.v;
    const double length = std::sqrt(x * x + y * y + z * z), half = std::atan2(length, turn.w);
    if (length < rounding) return {identity2, phase - half, phase - half};
    Complex a = length + z, b = {x, y};  // the eigenvector of the first phase
    if (z < 0) a = {x, -y}, b = length - z;
    const double norm = std::sqrt(std::norm(a) + std::norm(b));
    a /= norm, b /= norm;
    return {{std::conj(a), std::conj(b), -b, a}, phase - half, phase + half};
}

// Writes the turns of the mixed wire for each value of the others.
void write(const std::array<Matrix2, values>& turns, Conditional& to) {
    const auto same = [&](const Matrix2& turn) {
        return std::count_if(turns.begin(), turns.end(), [&](const Matrix2& one) { return is_same(turn, one); });
    };
    const auto fewer = [&](const Matrix2& one, const Matrix2& other) { return same(one) < same(other); };
    const Matrix2 most = *std::max_element(turns.begin(), turns.end(), fewer);
    to.before[to.mixed] = most * to.before[to.mixed];
    const auto [low, high] = others(to.mixed);
    std::vector<double> phases(values);
    for (std::size_t value = 0; value < values; ++value) {
        const Phases own = phases_of(turns[value] * adjoint(most));
        const Mask where = (value & 1) << low | (value >> 1) << high;
        const bool on_zero = is_none(own.one);
        phases[value] = on_zero ? 0 : own.zero;
        if (is_none(own.one - own.zero)) continue;
        to.turns.push_back(on_zero
                               ? Conditional::Where{where, own.zero, own.turn}
                               : Conditional::Where{where | unit(static_cast<int>(to.mixed)), own.one - own.zero, own.turn});
    }
    to.phases = joint_phases(phases, rounding);
}

}  // namespace

std::optional<Conditional> conditional(const Segment& of) {
    Conditional out;
    out.before.assign(wires, identity2), out.behind.assign(wires, identity2);
    for (std::size_t k = 0; k < wires; ++k) {
        if (of.reads(static_cast<int>(k), out.before[k], out.behind[k])) continue;
        if (out.mixed < wires) return {};
        out.mixed = k;
    }
    if (out.mixed == wires) return {};
    const std::vector<Complex> left = of.between(out.before, out.behind).dense();
    const std::size_t own = std::size_t{1} << out.mixed, size = std::size_t{1} << wires;
    for (std::size_t k = 0; k < left.size(); ++k)  // the less a turn is, the less it tells of what reads a wire
        if ((k / size ^ k % size) & ~own && size_of(left[k]) > most_beside) return {};
    const auto [low, high] = others(out.mixed);
    std::array<Matrix2, values> turns;
    for (std::size_t value = 0; value < values; ++value) {
        const std::size_t first = (value & 1) << low | (value >> 1) << high;
        for (std::size_t k = 0; k < turns[value].size(); ++k)
            turns[value][k] = left[size * (first | (k & 2 ? own : 0)) + (first | (k & 1 ? own : 0))];
    }
    write(turns, out);
    return out;
}

void put_conditional(const Conditional& one, const Cluster& of, Pieces& to) {
    std::vector<int> on;
    each(of.wires, [&](int wire) { on.push_back(wire); });
    const auto wires_of = [&](Mask bits) {
        Mask out = 0;
        each(bits, [&](int bit) { out |= unit(on[static_cast<std::size_t>(bit)]); });
        return out;
    };
    std::size_t parts = 0;
    for (const Piece& piece : of.pieces) parts += piece.parts;
    const auto put = [&](Piece piece) {
        piece.parts = std::exchange(parts, 0);
        to.put(std::move(piece), false);
    };
    for (std::size_t k = 0; k < wires; ++k) to.carried(on[k]) = one.before[k] * to.carried(on[k]);
    Matrix2& own = to.carried(on[one.mixed]);
    for (const Conditional::Where& where : one.turns) {
        std::vector<Matrix2> turns(wires, identity2);
        turns[one.mixed] = where.turn;
        put({Piece::where, of.wires, where.angle, wires_of(where.values), std::move(turns)});
        own = adjoint(where.turn) * own;
    }
    const std::array<std::size_t, 2> bits = others(one.mixed);
    for (const JointPhase& phase : one.phases.joint) {
        const Mask read = wires_of(unit(static_cast<int>(bits[0])) | unit(static_cast<int>(bits[1])));
        Mask set = 0;
        for (std::size_t k = 0; k < 2; ++k)
            if (phase.values >> k & 1) set |= unit(on[bits[k]]);
        put({one.phases.parities ? Piece::parity : Piece::where, read, phase.angle, set, {identity2, identity2}});
    }
    to.add_phase(one.phases.all);
    for (std::size_t k = 0; k < 2; ++k) {
        Matrix2& other = to.carried(on[bits[k]]);
        other = phase2(one.phases.single[k]) * other;
    }
    for (std::size_t k = 0; k < wires; ++k) to.carried(on[k]) = one.behind[k] * to.carried(on[k]);
}

}  // namespace qx::form
