// Turns of one wire as few rotations by their whole angles.

#include "planner/form/gates/fewer_turns.hpp"

#include <algorithm>
#include <cmath>

namespace qx::form {

namespace {

constexpr double quarter = 1.57079632679489661923;

// All of some rotations, quarter turns, too.
std::vector<AxisRotation> with_quarters(const Rotations& of) {
    std::vector<AxisRotation> out(of.generic.begin(), of.generic.begin() + of.num_generic);
    for (int k = 0; k < of.num_clifford; ++k) {
        const Rotations::Quarters& one = of.clifford[static_cast<std::size_t>(k)];
        out.push_back({one.axis, one.quarters * quarter});
    }
    return out;
}

}  // namespace

bool fewer(const Turn& whole, std::size_t than, Rounding& rounding, bool quarters, std::vector<AxisRotation>& out) {
    const auto fits = [&](const std::vector<AxisRotation>& of) {
        Turn made;
        for (const AxisRotation& one : of) made = Turn::about(one.axis, one.angle) * made;
        out = of;
        return rounding.take(whole.distance(made));
    };
    const auto& v = whole.v;
    const auto angle = [](double sine, double cosine) { return 2 * std::atan2(sine, cosine); };
    const auto at = [&](int axis) { return v[static_cast<std::size_t>(axis)]; };
    if (fits({})) return true;
    for (int a = 0; a < 3; ++a)
        if (fits({{a, angle(at(a), whole.w)}})) return true;
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
            const int c = 3 - a - b;
            if (a == b) continue;
            const double sign = (b - a + 3) % 3 == 1 ? -1 : 1;  // of -i B A = sign * C
            const double first =
                std::hypot(whole.w, at(a)) >= std::hypot(at(b), at(c)) ? angle(at(a), whole.w) : angle(sign * at(c), at(b));
            const Turn rest = whole * Turn::about(a, -first);
            if (fits({{a, first}, {b, angle(rest.v[static_cast<std::size_t>(b)], rest.w)}})) return true;
        }
    if (than <= 3) return false;
    const auto about_z = whole_rotations(whole, 2);
    const bool three = fits({about_z.begin(), about_z.end()});
    const auto is_quarter = [&](const AxisRotation& one) { return split_angle(one.angle, rounding.most()).rest == 0; };
    if (!quarters || (three && std::any_of(out.begin(), out.end(), is_quarter))) return three;
    const std::vector<AxisRotation> about_z_x_z = out;
    const Rotations few = fewest_rotations(whole, {0, 1, 2}, rounding.most());
    if (few.num_generic < 3 && fits(with_quarters(few))) return true;
    out = about_z_x_z;
    return three;
}

}  // namespace qx::form
