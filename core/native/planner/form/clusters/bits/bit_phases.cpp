// Phases where polynomials of bits are 1, as phases of products of bits.

#include "planner/form/clusters/bits/bit_phases.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace qx::form {

namespace {

constexpr double pi = std::numbers::pi, rounding = 1e-12;
constexpr std::size_t most_products = 64;  // of which a polynomial's phase is made
constexpr std::size_t most_joined = 32;      // phases of which some may be one

bool is_none(double angle) { return std::fabs(short_way(angle)) < rounding; }

}  // namespace

void BitPhases::add_product(Mask bits, double angle) {
    if (!bits) {
        all += angle;
        return;
    }
    const auto [at, is_new] = of_products_.try_emplace(bits, 0);
    at->second = short_way(at->second + angle);
    if (is_none(at->second)) of_products_.erase(at);
}

// A sum of terms is all of them, less twice where two are 1, and so on: the products of k terms by (-2)^(k - 1), which is
// soon nothing for parts of a turn.
void BitPhases::add(const Polynomial& where, double angle) {
    if (is_none(angle) || where.is_zero()) return;
    is_joined_ = false;
    std::vector<std::pair<Mask, double>> found;
    struct Product {
        Mask bits;
        double angle;
        std::size_t next;  // the first term that it may be multiplied by
    };
    std::vector<Product> open{{0, angle, 0}};
    while (!open.empty() && found.size() <= most_products) {
        const Product own = open.back();
        open.pop_back();
        const bool goes_on = !is_none(2 * own.angle);
        for (std::size_t k = own.next; k < where.size() && found.size() <= most_products; ++k) {
            const Mask bits = own.bits | where.terms()[k];
            found.emplace_back(bits, own.angle);
            if (goes_on) open.push_back({bits, -2 * own.angle, k + 1});
        }
    }
    work_ += 2 * found.size();
    if (found.size() <= most_products) {
        for (const auto& [bits, by] : found) add_product(bits, by);
        return;
    }
    const auto same = [&](const auto& one) { return one.first == where; };
    const auto at = std::find_if(others_.begin(), others_.end(), same);
    if (at == others_.end()) return others_.emplace_back(where, angle), void();
    at->second = short_way(at->second + angle);
    if (is_none(at->second)) others_.erase(at);
}

std::optional<std::vector<JointPhase>> BitPhases::taken(int bit) {
    for (const auto& [where, angle] : others_)
        if (where.reads(bit)) return {};
    std::vector<JointPhase> out;
    std::erase_if(of_products_, [&](const auto& one) {
        const Mask others = one.first & ~unit(bit);
        if (others == one.first) return false;
        out.push_back({others, others, one.second});
        return true;
    });
    is_joined_ = is_joined_ && out.empty();
    if (out.size() <= most_joined) join_phases(out, rounding);
    return out;
}

const std::optional<std::vector<JointPhase>>& BitPhases::joint() const {
    if (!is_joined_) join();
    is_joined_ = true;
    return joint_;
}

void BitPhases::join() const {
    joint_.reset();
    if (of_products_.size() > most_joined) return;
    std::vector<JointPhase> out, single;
    for (const auto& [where, angle] : others_) {
        const std::vector<JointPhase> products = few_products(where);
        if (products.size() > 1) return;
        single.push_back({products[0].bits, products[0].values, angle});
    }
    for (const auto& [bits, angle] : of_products_) (count(bits) > 1 ? out : single).push_back({bits, bits, angle});
    join_phases(out, rounding);
    out.insert(out.end(), single.begin(), single.end());
    joint_ = std::move(out);
}

std::vector<JointPhase> few_products(const Polynomial& of) {
    std::vector<JointPhase> out;
    for (const Mask bits : of.terms()) out.push_back({bits, bits, pi});
    if (out.size() <= most_joined) join_phases(out, rounding);
    return out;
}

}  // namespace qx::form
