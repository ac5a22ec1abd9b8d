// Phases where functions of bits are 1, as phases of products of bits.

#include "planner/form/clusters/bits/bit_phases.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr double pi = std::numbers::pi, rounding = 1e-11;
constexpr std::size_t most_others = 4;     // functions of which phases may be one product after all
constexpr std::size_t many_more = 8;       // products than twice those that there were
constexpr std::size_t most_read = 4;       // of a function as which all are written
constexpr std::size_t most_joined = 32;    // phases of which some may be one

bool is_none(double angle) { return std::fabs(short_way(angle)) < rounding; }
bool is_sign(double angle) { return is_none(2 * angle); }
// How far an angle is off 0, or half a turn.
double off_sign(double angle) { return std::fabs(short_way(2 * angle)) / 2; }

}  // namespace

std::size_t joining(const std::vector<JointPhase>& phases) {
    const auto joins = [](const JointPhase& one) { return count(one.bits) > 1; };
    return static_cast<std::size_t>(std::count_if(phases.begin(), phases.end(), joins));
}

// Returns where the phase of a product is, or comes.
BitPhases::Products::iterator BitPhases::at(Mask bits) {
    return std::lower_bound(of_products_.begin(), of_products_.end(), bits,
                            [](const auto& one, Mask other) { return one.first < other; });
}

void BitPhases::add_product(Mask bits, double angle) {
    auto own = at(bits);
    if (own == of_products_.end() || own->first != bits) own = of_products_.insert(own, {bits, 0});
    own->second = short_way(own->second + angle);
    if (!is_sign(own->second)) return;
    off += off_sign(own->second);
    const Diagram where = is_none(own->second) ? Diagram() : product(bits);
    if (!diagrams_->fits()) return;
    of_products_.erase(own);
    add_sign(where);
}

// Adds a sign to the last of some that are short. What computes conditions is undone from its end, so that one reads less
// then, and joins that before it.
void BitPhases::add_sign(Diagram where) {
    if (where.begins_as_one()) all += pi, where = !where;
    if (where.is_zero()) return;
    if (const auto at = std::find(signs_.begin(), signs_.end(), where); at != signs_.end()) return signs_.erase(at), void();
    const int before = signs_.empty() ? 0 : count(diagrams_->read(signs_.back()));
    signs_.push_back(where);
    for (bool is_less = true; is_less && signs_.size() > 1; is_less = count(diagrams_->read(signs_.back())) < before) {
        const auto sum = diagrams_->short_sum(*(signs_.end() - 2), signs_.back());
        if (!sum) return;
        signs_.pop_back(), signs_.back() = *sum;
    }
    if (signs_.back().is_zero()) signs_.pop_back();
}

// From the last to the first, so that sums stay short.
Diagram BitPhases::signs() const {
    Diagram out;
    for (std::size_t k = signs_.size(); k-- > 0;) out = diagrams_->sum(out, signs_[k]);
    return out;
}

// Lets products be of the opposite of a bit: a phase where both are 1 is one where a product is, less where the opposite is.
void BitPhases::flip(int bit) {
    Products with;
    std::erase_if(of_products_, [&](const auto& one) {
        const bool reads = one.first >> bit & 1;
        if (reads) with.push_back(one);
        return reads;
    });
    flipped_ ^= unit(bit), is_joined_ = false;
    for (const auto& [bits, angle] : with) add_product(bits, -angle), add_product(bits & ~unit(bit), angle);
}

// Flips bits as long as there are fewer products then.
void BitPhases::flip_those_of_fewer() {
    add_others_again();
    Mask bits = 0;
    for (const auto& [of, angle] : of_products_) bits |= of;
    for (std::size_t before = ~std::size_t{0}; size() < before;) {
        before = size();
        each(bits, [&](int bit) {
            Int more = 0;
            for (const auto& [of, angle] : of_products_) {
                if (!(of >> bit & 1)) continue;
                const auto without = at(of & ~unit(bit));
                const bool is_there = without->first == (of & ~unit(bit));  // there is one behind it: that of all its bits
                more += !is_there ? 1 : is_sign(without->second + angle) ? -1 : 0;
            }
            work_ += of_products_.size();
            if (more < 0) flip(bit);
        });
    }
    add_others_again();
    flipped_at_ = size();
}

void BitPhases::add_others_again() {
    is_again_ = true;
    for (const auto& [where, angle] : std::exchange(others_, {})) add(where, angle);
    is_again_ = false;
}

// Lets products have bits that are in none as a function has them, if that is few products, in the longest of these.
void BitPhases::read_as(Diagram where) {
    Mask bits = diagrams_->read(where) & ~read_;
    read_ |= bits;
    if (!bits || diagrams_->number_of_products(where) > most_read) return;
    std::vector<JointPhase> products = diagrams_->few_products(where);
    const auto longer = [](const JointPhase& one, const JointPhase& other) { return count(one.bits) > count(other.bits); };
    std::sort(products.begin(), products.end(), longer);
    for (const JointPhase& one : products) flipped_ |= bits & one.bits & ~one.values, bits &= ~one.bits;
}

// Returns the same phases, and one more, by products that have bits as that one has them.
BitPhases BitPhases::written_as(Diagram where, double more) const {
    BitPhases out(*diagrams_);
    out.read_as(where);
    out.all = all, out.off = off, out.work_ = work_, out.is_again_ = true;
    for (const auto& [part, angle] : parts()) out.add(part, angle);
    out.add(where, more);
    out.flip_those_of_fewer();
    return out;
}

// Whether a function is a sum of so many single bits, and maybe of something else, that its phase is more products than may
// be: of k bits at least 2^k - 1, since products of j bits have 2^(j-1) times the angle, up to the first j for which that is
// a sign.
bool BitPhases::is_long_parity(Diagram where, double angle) const {
    for (Int products = 1; products - 1 <= thresholds.phase_products; products *= 2, angle *= 2) {
        if (where.is_zero() || where.is_one() || is_sign(angle)) return false;
        const Diagram low = diagrams_->low(where);
        if (!(low == !diagrams_->high(where))) return false;
        where = low;
    }
    return true;
}

// Writes a phase as some of products of bits. A function is what it is for one value of a bit, and its change for the other
// one, less twice where both are 1, which is soon a sign for parts of a turn. Returns false if there are too many.
bool BitPhases::write(Diagram where, double angle, Mask under, Parts& to) const {
    if (to.products.size() > thresholds.phase_products || diagrams_->steps() > to.until || !diagrams_->fits()) return false;
    if (where.is_zero()) return true;
    if (is_sign(angle)) {
        to.off += off_sign(angle);
        if (!is_none(angle)) to.signs = diagrams_->sum(to.signs, diagrams_->both(product(under), where));
        return true;
    }
    if (diagrams_->value(where, flipped_)) to.products.emplace_back(under, angle), where = !where, angle = -angle;
    if (where.is_zero()) return true;
    const int bit = diagrams_->first(where);
    const Diagram low = diagrams_->low(where), high = diagrams_->high(where), change = diagrams_->sum(low, high);
    const Diagram first = flipped_ >> bit & 1 ? high : low;
    const Mask with = under | unit(bit);
    return write(first, angle, under, to) && write(change, angle, with, to) &&
           write(diagrams_->both(first, change), -2 * angle, with, to);
}

void BitPhases::flip_if_many() {
    if (is_again_) return;
    if (size() > 2 * flipped_at_ + many_more || (!others_.empty() && others_.size() <= most_others)) flip_those_of_fewer();
}

void BitPhases::add(Diagram where, double angle) {
    if (where.is_zero()) return;
    if (is_none(angle)) {
        off += off_sign(angle);
        return;
    }
    is_joined_ = false;
    if (where.begins_as_one()) all += angle, where = !where, angle = -angle;
    const auto same = [&](const auto& one) { return one.first == where; };
    if (const auto at = std::find_if(others_.begin(), others_.end(), same); at != others_.end()) {
        at->second = short_way(at->second + angle);
        const bool sign = is_sign(at->second), none = is_none(at->second);
        if (sign) off += off_sign(at->second), others_.erase(at);
        if (sign && !none) add_sign(where);
        return;
    }
    read_as(where);
    Parts found;
    found.until = diagrams_->steps() + diagrams_->part();
    const bool is_long = is_long_parity(where, angle), is_written = !is_long && write(where, angle, 0, found);
    const std::size_t number = is_long ? static_cast<std::size_t>(thresholds.phase_products) + 1 : found.products.size();
    work_ += 2 * number;
    if (is_written && diagrams_->fits()) {
        add_sign(found.signs), off += found.off;
        for (const auto& [bits, by] : found.products) add_product(bits, by);
        return flip_if_many();
    }
    if (!is_again_ && number > many_more && diagrams_->number_of_products(where) <= most_read) {
        BitPhases other = written_as(where, angle);
        work_ = other.work_;
        if (diagrams_->fits() && other.size() <= size() + 1) {
            *this = std::move(other);
            return;
        }
    }
    others_.emplace_back(where, angle);
    flip_if_many();
}

std::vector<std::pair<Diagram, double>> BitPhases::parts() const {
    std::vector<std::pair<Diagram, double>> out = others_;
    for (const Diagram one : signs_) out.emplace_back(one, pi);
    for (const auto& [bits, angle] : of_products_) out.emplace_back(product(bits), angle);
    return out;
}

std::optional<std::vector<JointPhase>> BitPhases::taken(int bit) {
    for (const auto& [where, angle] : others_)
        if (diagrams_->reads(where, bit)) return {};
    if (flipped_ >> bit & 1) flip(bit);
    const Diagram whole = signs(), without = diagrams_->at_zero(whole, bit);
    std::vector<JointPhase> out = diagrams_->few_products(diagrams_->change(whole, bit));
    if (!diagrams_->fits()) return {};
    signs_.clear();
    if (!without.is_zero()) signs_.push_back(without);
    std::erase_if(of_products_, [&](const auto& one) {
        const Mask others = one.first & ~unit(bit);
        if (others == one.first) return false;
        out.push_back({others, others & ~flipped_, one.second});
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
    if (others_.size() > most_others) return;
    BitPhases own = *this;
    own.flip_those_of_fewer();
    if (!others_.empty())
        if (BitPhases other = written_as(others_.back().first, 0); other.size() < own.size()) own = std::move(other);
    work_ = own.work_, off = own.off;
    own.write_joint(joint_);
    if (joint_ && !is_none(own.all - all)) joint_->push_back({0, 0, own.all - all});
}

void BitPhases::write_joint(std::optional<std::vector<JointPhase>>& to) const {
    const Diagram whole = signs();
    if (of_products_.size() + diagrams_->number_of_products(whole) > most_joined) return;
    std::vector<JointPhase> out, single;
    for (const auto& [bits, angle] : of_products_)
        (count(bits) > 1 ? out : single).push_back({bits, bits & ~flipped_, angle});
    for (const auto& [where, angle] : others_) {
        if (diagrams_->number_of_products(where) > 1) return;
        for (JointPhase one : diagrams_->few_products(where)) one.angle = angle, out.push_back(one);
    }
    for (const JointPhase& one : diagrams_->few_products(whole)) (count(one.bits) > 1 ? out : single).push_back(one);
    if (!diagrams_->fits()) return;
    work_ += out.size() * out.size() + single.size();
    std::vector<JointPhase> all = out;
    all.insert(all.end(), single.begin(), single.end());
    join_phases(out, rounding);
    out.insert(out.end(), single.begin(), single.end());
    if (!single.empty() && joining(out) > 1) {  // a phase of a single bit may be part of one
        join_phases(all, rounding);
        work_ += all.size() * all.size();
        if (joining(all) < joining(out)) out = std::move(all);
    }
    to = std::move(out);
}

}  // namespace qx::form
