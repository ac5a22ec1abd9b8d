// Turns of one qubit.

#include "planner/form/gates/turn.hpp"

#include <cmath>

namespace qx::form {

namespace {

constexpr double quarter = 1.57079632679489661923, quarter_low = 6.123233995736766e-17;  // π/2 is their sum

std::size_t at(int axis) { return static_cast<std::size_t>(axis); }

// An axis or its opposite.
struct Axis {
    int axis;
    bool opposite = false;
};

// Returns what exp(i k π/4 B) A exp(-i k π/4 B) is, for two axes that are not one: A turned by -k quarters about B.
Axis turned(Axis a, Axis b, int quarters) {
    quarters &= 3;
    if (quarters == 2) return {a.axis, !a.opposite};
    if (!quarters) return a;
    const bool right_handed = (a.axis + 1) % 3 == b.axis;  // A B = i C, and exp(i π/4 B) A exp(-i π/4 B) = -i A B
    const bool flips = a.opposite != b.opposite;
    return {3 - a.axis - b.axis, (right_handed == flips) == (quarters == 1)};
}

// The angles of A(third) B(second) A(first), where B follows A.
struct Euler {
    double first, second, third;
};

Euler angles(const Turn& turn, int axis) {
    const double a = turn.v[at(axis)], b = turn.v[at((axis + 1) % 3)], c = turn.v[at((axis + 2) % 3)];
    const double along = std::hypot(turn.w, a), across = std::hypot(b, c);
    const double sum = std::atan2(a, turn.w), difference = std::atan2(c, b), second = 2 * std::atan2(across, along);
    constexpr double nothing = 1e-300;
    if (across < nothing) return {2 * sum, 0, 0};
    if (along < nothing) return {-2 * difference, second, 0};
    return {sum - difference, second, sum + difference};
}

// Moves an outer angle to the next multiple of a quarter turn, if the turn stays what it is but for `tolerance`: the other
// outer angle takes what is missing, where the one between is near 0 or a half turn. Returns whether it has moved, and adds
// how far the turn is off.
bool snap(double& outer, double& other, double second, double tolerance, double& off) {
    const double wanted = std::nearbyint(outer / quarter), left = (outer - wanted * quarter) - wanted * quarter_low;
    const double by_sine = std::fabs(left * std::sin(second / 2));
    const bool small = by_sine <= tolerance;
    const double by = small ? by_sine : std::fabs(left * std::cos(second / 2));
    if (by > tolerance) return false;
    outer -= left, other += small ? left : -left, off += by;
    return true;
}

// Splits a rotation about an axis; the axis is no opposite any more.
SplitAngle split(Axis& about, double angle, double tolerance) {
    if (about.opposite) angle = -angle;
    about.opposite = false;
    return split_angle(angle, tolerance);
}

}  // namespace

SplitAngle split_angle(double angle, double tolerance) {
    double quarters = std::nearbyint(angle / quarter);
    double rest = (angle - quarters * quarter) - quarters * quarter_low;
    constexpr double near = 1e-12;  // to an eighth turn, which is one however it was computed
    if (rest <= -quarter / 2 + std::fmax(tolerance, near)) quarters -= 1, rest += quarter;
    double off = 0;
    if (std::fabs(rest) <= tolerance) off = std::fabs(rest), rest = 0;
    return {static_cast<int>(static_cast<std::int64_t>(std::fmod(quarters, 8)) & 7), rest, off};
}

Turn Turn::about(int axis, double angle) {
    Turn out;
    out.w = std::cos(angle / 2), out.v[at(axis)] = std::sin(angle / 2);
    return out;
}

Turn Turn::of(const Complex* m, double& phase) {
    phase = std::arg(m[0] * m[3] - m[1] * m[2]) / 2;
    const Complex by = std::polar(1.0, -phase);
    const Complex a = m[0] * by, b = m[1] * by, c = m[2] * by, d = m[3] * by;
    Turn out{(a.real() + d.real()) / 2, {-(b.imag() + c.imag()) / 2, (c.real() - b.real()) / 2, (d.imag() - a.imag()) / 2}};
    const double norm = std::sqrt(out.w * out.w + out.v[0] * out.v[0] + out.v[1] * out.v[1] + out.v[2] * out.v[2]);
    out.w /= norm;
    for (double& one : out.v) one /= norm;
    return out;
}

Turn Turn::operator*(const Turn& o) const {
    return {
        w * o.w - v[0] * o.v[0] - v[1] * o.v[1] - v[2] * o.v[2],
        {w * o.v[0] + v[0] * o.w + v[1] * o.v[2] - v[2] * o.v[1], w * o.v[1] + v[1] * o.w + v[2] * o.v[0] - v[0] * o.v[2],
         w * o.v[2] + v[2] * o.w + v[0] * o.v[1] - v[1] * o.v[0]}};
}

double Turn::distance(const Turn& o) const {
    return std::fabs(w - o.w) + std::fabs(v[0] - o.v[0]) + std::fabs(v[1] - o.v[1]) + std::fabs(v[2] - o.v[2]);
}

std::array<AxisRotation, 3> whole_rotations(const Turn& turn, int axis) {
    const Euler of = angles(turn, axis);
    return {{{axis, of.first}, {(axis + 1) % 3, of.second}, {axis, of.third}}};
}

Turn product(const Rotations& of) {
    Turn out;
    for (std::size_t k = 0; k < at(of.num_generic); ++k) out = Turn::about(of.generic[k].axis, of.generic[k].angle) * out;
    for (std::size_t k = 0; k < at(of.num_clifford); ++k)
        out = Turn::about(of.clifford[k].axis, of.clifford[k].quarters * quarter) * out;
    return out;
}

Rotations rotations_from(const Turn& turn, int axis, double tolerance) {
    Euler of = angles(turn, axis);
    Rotations out;
    const double sine = std::fabs(std::sin(of.second / 2)), cosine = std::fabs(std::cos(of.second / 2));
    if (sine <= tolerance) of = {of.first + of.third, 0, 0}, out.off = sine;
    else if (cosine <= tolerance) of = {of.first - of.third, 2 * quarter, 0}, out.off = cosine;
    if (!snap(of.first, of.third, of.second, tolerance, out.off)) snap(of.third, of.first, of.second, tolerance, out.off);
    Axis a{axis};
    const SplitAngle first = split(a, of.first, tolerance);
    Axis between = turned({(axis + 1) % 3}, a, first.quarters);
    const SplitAngle second = split(between, of.second, tolerance);
    Axis last = turned(a, between, second.quarters);
    const SplitAngle third = split(last, of.third + first.quarters * (quarter + quarter_low), tolerance);
    const auto add = [&](const Axis& about, const SplitAngle& angle) {
        out.off += angle.off;
        if (angle.rest != 0) out.generic[at(out.num_generic++)] = {about.axis, angle.rest};
    };
    add(a, first), add(between, second), add(last, third);
    if (third.quarters) out.clifford[at(out.num_clifford++)] = {last.axis, third.quarters};
    if (second.quarters) out.clifford[at(out.num_clifford++)] = {between.axis, second.quarters};
    return out;
}

Rotations fewest_rotations(const Turn& turn, const std::array<int, 3>& order, double tolerance) {
    Rotations best = rotations_from(turn, order[0], tolerance);
    for (std::size_t k = 1; k < 3; ++k) {
        Rotations other = rotations_from(turn, order[k], tolerance);
        if (other.num_generic < best.num_generic) best = other;
    }
    return best;
}

}  // namespace qx::form
