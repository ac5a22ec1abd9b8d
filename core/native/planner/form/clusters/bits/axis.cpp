// Axes of wires, in a frame in which turns of single wires are gone.

#include "planner/form/clusters/bits/axis.hpp"

#include <algorithm>
#include <numbers>

#include "planner/form/clusters/joint_phases.hpp"

namespace qx::form {

namespace {

constexpr double pi = std::numbers::pi, rounding = 1e-12;

}  // namespace

Axis pulled(const Axis& axis, const Matrix2& turn) {
    const Matrix2 own = adjoint(turn) * operator_about(axis) * turn;
    Axis out{(own[1] + own[2]).real() / 2, (own[2] - own[1]).imag() / 2, (own[0] - own[3]).real() / 2};
    const double length = std::sqrt(dot(out, out));
    for (double& one : out) one /= length;
    return out;
}

Matrix2 to_z(const Axis& axis) {
    const double across = std::hypot(axis[0], axis[1]);
    if (across < 1e-14) return axis[2] > 0 ? identity2 : Matrix2{0, 1, 1, 0};
    const double half = std::atan2(across, axis[2]) / 2, c = std::cos(half), s = std::sin(half);
    const Complex by(axis[0] / across, -axis[1] / across);
    return {c, s * by, s, -c * by};
}

Matrix2 phase_about(const Axis& axis, double angle) {
    const Complex by = std::polar(1.0, angle);
    Matrix2 out = operator_about(axis);
    for (std::size_t k = 0; k < 4; ++k) out[k] = (1.0 + by) / 2.0 * identity2[k] + (1.0 - by) / 2.0 * out[k];
    return out;
}

AxisPhase axis_phase(const Matrix2& turn) {
    const double mean = std::arg(turn[0] * turn[3] - turn[1] * turn[2]) / 2;
    Matrix2 own = turn;
    for (Complex& one : own) one *= std::polar(1.0, -mean);
    const double cosine = (own[0] + own[3]).real() / 2;
    Axis sine{-(own[1] + own[2]).imag() / 2, (own[2] - own[1]).real() / 2, -(own[0] - own[3]).imag() / 2};
    const double length = std::sqrt(dot(sine, sine));
    AxisPhase out;
    if (length < rounding) {
        out.phase = cosine > 0 ? mean : mean + pi;
        return out;
    }
    for (std::size_t k = 0; k < 3; ++k) out.axis[k] = sine[k] / length;
    out.angle = 2 * std::atan2(length, cosine);
    out.phase = short_way(mean - out.angle / 2);
    if (const double other = short_way(mean + out.angle / 2); std::fabs(other) < std::fabs(out.phase))
        out.phase = other, out.angle = -out.angle, out.axis = -out.axis;
    out.angle = short_way(out.angle);
    return out;
}

}  // namespace qx::form
