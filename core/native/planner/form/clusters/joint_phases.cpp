// Phases of each index of some bits, as few joint phases of bits.

#include "planner/form/clusters/joint_phases.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace qx::form {

namespace {

// Makes of phases those of products of bits.
void of_products(std::vector<double>& by) {
    for (std::size_t bit = 1; bit < by.size(); bit *= 2)
        for (std::size_t k = 0; k < by.size(); ++k)
            if (k & bit) by[k] -= by[k ^ bit];
    for (double& one : by) one = short_way(one);
}

// Makes of phases those by the signs of parities.
void of_parities(std::vector<double>& by) {
    for (std::size_t bit = 1; bit < by.size(); bit *= 2)
        for (std::size_t k = 0; k < by.size(); ++k)
            if (!(k & bit)) {
                const double a = by[k], b = by[k | bit];
                by[k] = (a + b) / 2, by[k | bit] = (a - b) / 2;
            }
}

std::size_t joint(const std::vector<double>& by, double tolerance) {
    std::size_t out = 0;
    for (std::size_t k = 1; k < by.size(); ++k) out += (k & (k - 1)) && std::fabs(by[k]) > tolerance;
    return out;
}

// Makes one phase of two, of which one is where a bit more is 1 and the opposite, or that are equal but for a bit's value.
bool join(JointPhase& one, const JointPhase& other, double tolerance) {
    const Mask more = other.bits & ~one.bits, differ = one.values ^ (other.values & one.bits);
    const auto is_none = [&](double angle) { return std::fabs(short_way(angle)) <= tolerance; };
    if (one.bits & ~other.bits) return false;
    if (!more && differ && !(differ & (differ - 1)) && is_none(one.angle - other.angle) && count(one.bits) > 2)
        return one.bits &= ~differ, one.values &= ~differ, true;
    if (!more || more & (more - 1) || differ || !is_none(one.angle + other.angle)) return false;
    one.bits |= more, one.values |= more & ~other.values;
    return true;
}

constexpr std::size_t none = ~std::size_t{0};

// Makes two phases of three: where one of two bits is 1, for each of them, and twice the opposite where both are. Returns
// the number of the third one, which is nothing then; `none` if there is none.
std::size_t join_three(std::vector<JointPhase>& phases, JointPhase& one, JointPhase& other, double tolerance) {
    const Mask own = one.bits & ~other.bits, others = other.bits & ~one.bits, both = one.bits & other.bits;
    if (count(own) != 1 || count(others) != 1 || ((one.values ^ other.values) & both)) return none;
    if (std::fabs(short_way(one.angle - other.angle)) > tolerance) return none;
    const Mask bits = one.bits | other.bits, values = one.values | other.values;
    for (std::size_t k = 0; k < phases.size(); ++k) {
        const JointPhase& third = phases[k];
        if (third.bits != bits || third.values != values) continue;
        if (std::fabs(short_way(third.angle + 2 * one.angle)) > tolerance) continue;
        one.bits = other.bits = bits;
        one.values = values ^ others, other.values = values ^ own;
        return k;
    }
    return none;
}

// The phases of which it is known that they make no fewer with others.
class Settled {
  public:
    explicit Settled(std::size_t phases) : of_(phases, 0) {}

    bool operator[](std::size_t phase) const { return of_[phase]; }
    void put(std::size_t phase) { of_[phase] = 1; }
    void erase(std::size_t phase) { of_.erase(of_.begin() + static_cast<std::ptrdiff_t>(phase)); }
    // Forgets those that may make fewer with a phase which has become another one: each has at most one bit more.
    void change(const std::vector<JointPhase>& phases, std::size_t changed) {
        const Mask bits = phases[changed].bits;
        for (std::size_t k = 0; k < phases.size(); ++k)
            if (count(phases[k].bits & ~bits) < 2 && count(bits & ~phases[k].bits) < 2) of_[k] = 0;
    }

  private:
    std::vector<char> of_;
};

std::vector<double> flipped(const std::vector<double>& by, Mask bits) {
    std::vector<double> out(by.size());
    for (std::size_t k = 0; k < by.size(); ++k) out[k] = by[k ^ bits];
    return out;
}

// Writes phases of products, of which some bits are flipped, or of parities.
void write(const std::vector<double>& by, Mask flips, double tolerance, JointPhases& out) {
    out.all = by[0];
    for (std::size_t k = 1; k < by.size(); ++k) {
        const bool is_none = std::fabs(by[k]) <= tolerance;
        if (k & (k - 1)) {
            if (!is_none) out.joint.push_back({k, k & ~flips, out.parities ? -2 * by[k] : by[k]});
            continue;
        }
        const bool is_flipped = flips & k;  // then it is where the bit is 0
        out.single.push_back(out.parities ? -2 * by[k] : is_flipped ? -by[k] : by[k]);
        if (out.parities || is_flipped) out.all += by[k];
    }
}

}  // namespace

void join_phases(std::vector<JointPhase>& phases, double tolerance) {
    Settled settled(phases.size());
    for (std::size_t k = 0; k < phases.size();) {
        std::size_t gone = none;
        for (std::size_t j = 0; j < phases.size() && gone == none && !settled[k]; ++j) {
            if (j != k && join(phases[k], phases[j], tolerance)) gone = j;
            else if (k < j) gone = join_three(phases, phases[k], phases[j], tolerance);
            if (gone != none) settled.change(phases, k), settled.change(phases, j);
        }
        if (gone == none) {
            settled.put(k++);
            continue;
        }
        phases.erase(phases.begin() + static_cast<std::ptrdiff_t>(gone)), settled.erase(gone);
        k = 0;
    }
}

JointPhases joint_phases(const std::vector<double>& given, double tolerance) {
    JointPhases out;
    std::vector<double> best = given, parities = given;
    of_products(best);
    std::size_t least = joint(best, tolerance);
    Mask flips = 0;
    for (bool fewer = true; fewer && least > 1;) {
        fewer = false;
        for (Mask bit = 1; bit < given.size() && least > 1; bit *= 2) {
            std::vector<double> by = flipped(given, flips ^ bit);
            of_products(by);
            if (const std::size_t now = joint(by, tolerance); now < least)
                least = now, best = by, flips ^= bit, fewer = true;
        }
    }
    write(best, flips, tolerance, out);
    join_phases(out.joint, tolerance);
    const auto is_cz = [&](const JointPhase& one) {
        return count(one.bits) == 2 && std::fabs(std::fabs(short_way(one.angle)) - std::numbers::pi) <= tolerance;
    };
    if (out.joint.size() < 2 || std::all_of(out.joint.begin(), out.joint.end(), is_cz)) return out;
    for (double& one : parities) one = short_way(one - given[0]);
    of_parities(parities);
    if (joint(parities, tolerance) >= out.joint.size()) return out;
    out = {};
    out.parities = true;
    parities[0] += given[0];
    write(parities, 0, tolerance, out);
    return out;
}

}  // namespace qx::form
