// A form written out near the frame in which it is: rotations between gates that are undone behind them, and H and CX that
// stay because the next strings flip fewer wires then.

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/form/write/writer.hpp"

namespace qx::form {

namespace {

constexpr std::size_t next = 80;       // the strings that are weighed
constexpr std::size_t next_words = 2;  // with a bit for each
constexpr double forgotten = 0.975;    // by how much each counts less than the one before
constexpr double for_a_wire = 0.3;     // what a string costs for each wire that it flips beside the first one
constexpr double worth = 0.5;          // by how much an H that stays has to make them cheaper
constexpr double worth_of_cx = 1.0;
constexpr double for_a_read = 0.125;   // where CX are weighed, what a Z costs of what a flip costs

// Tells whether an angle is an odd number of eighth turns: the planner knows what such phases are between two H.
bool is_eighth(const Angle& of) {
    constexpr double half_quarter = 0.78539816339744830962, tolerance = 1e-12;
    return !of.varies() && std::fabs(std::fabs(std::fabs(of.value) - 2 * half_quarter) - half_quarter) < tolerance;
}

}  // namespace

// Returns the first of those rotations on fewest flipped wires that may run; first those that let no state grow.
std::size_t Writer::cheapest() {
    std::size_t out = begin_;
    const auto width = [&](std::size_t number) {
        int most = 0;
        controls_.each(waiting_[number],
                       [&](const Pauli& of) { most = std::max(most, count(of.x) + (of.x & zeros_ ? 64 : 0)); });
        return most;
    };
    for (std::size_t k = begin_ + 1, end = std::min(looked_at(), begin_ + next); k < end && width(out) > 1; ++k)
        if (width(k) < width(out) && is_free(k)) out = k;
    return out;
}

// Writes a rotation and those that flip the same wires and may run with it. One that flips two wires stands as it is, and so
// does one alone that flips one; others become diagonal and are phases.
void Writer::there_and_back() {
    const std::size_t number = cheapest();
    if (waiting_[number].num_controls) {
        const Waiting one = waiting_[number];
        std::copy_backward(waiting_.begin() + static_cast<std::ptrdiff_t>(begin_),
                           waiting_.begin() + static_cast<std::ptrdiff_t>(number),
                           waiting_.begin() + static_cast<std::ptrdiff_t>(number + 1));
        ++begin_, waits_[one.number] = false;
        return make_ready(one);
    }
    const Pauli first = waiting_[number].string.pauli;
    if (first.x & zeros_) return grow(number);
    const Mask ys = first.x & first.z, pivot = first.x & -first.x, targets = first.x ^ pivot;
    const bool pair = manner_ == Manner::local && count(first.x) == 2;
    const auto alike = [&](const Pauli& of) {
        return of.x == first.x && (pair ? (of.x & of.z) == ys : is_odd(of.x & of.z) == is_odd(ys));
    };
    std::vector<Waiting> own;
    const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(begin_),
               end = waiting_.begin() + static_cast<std::ptrdiff_t>(looked_at());
    auto behind = begin;
    for (auto of = begin; of != end; ++of) {
        const auto in_the_way = [&](const Waiting& one) { return waits_[one.number] && controls_.meet(one, *of); };
        if (of->num_controls || !alike(of->string.pauli) || std::any_of(begin, of, in_the_way)) continue;
        waits_[of->number] = false;
        own.push_back(*of), behind = of + 1;
    }
    for (auto of = behind; of != begin;)  // from the end, so that what stays lies together
        if (waits_[(--of)->number]) *--behind = *of;
    begin_ = static_cast<std::size_t>(behind - waiting_.begin());
    std::vector<Gate> around;
    const bool phases = own.size() > 1 || is_eighth(own.front().angle);
    if (!pair && targets) around.push_back({Gate::cx, lowest(pivot), targets});
    if (phases) {
        const Mask odd = pair ? ys : is_odd(ys) ? pivot : 0;
        if (odd) around.push_back({Gate::sdg, 0, odd});
        around.push_back({Gate::h, 0, pair ? first.x : pivot});
    }
    gates.insert(gates.end(), around.begin(), around.end());
    for (Waiting& one : own) {
        for (const Gate& gate : around) pass(gate, one.string);
        rotate(one);
    }
    for (auto gate = around.rbegin(); gate != around.rend(); ++gate) {
        gates.push_back(*gate);
        if (gate->kind == Gate::sdg) gates.back().kind = Gate::s;
    }
}

// Lists the next strings, each of which counts less than the one before.
void Writer::weigh() {
    weighed_.clear();
    double weight = 1;
    for (std::size_t k = begin_, end = std::min(looked_at(), begin_ + next); k < end; ++k, weight *= forgotten)
        controls_.each(waiting_[k], [&](const Pauli& of) { weighed_.push_back({of, weight}); });
}

// What the next strings cost behind S† on the wires of `y` and H on those of `h`; what is more than `most` may be less than
// all of it. Those that run together count once.
double Writer::flips(Mask h, Mask y, double most) const {
    double out = 0;
    Pauli last{};
    for (const auto& [string, weight] : weighed_) {
        Pauli of = string;
        of.z ^= of.x & y;
        const Mask both = (of.x ^ of.z) & h;
        of.x ^= both, of.z ^= both;
        if (!of.x) continue;
        if (of.x != last.x || is_odd(of.x & (of.z ^ last.z))) {
            out += weight * (1 + for_a_wire * (count(of.x) - 1));
            if (out > most) break;
        }
        last = of;
    }
    return out;
}

// Writes what makes the next strings cheaper most, if anything does: an H, with S† before it or without, or a CX. H and CX
// are weighed in two ways, so they could go on for ever.
bool Writer::stay() {
    if (begin_ != stayed_at_) stayed_at_ = begin_, stays_ = 0;
    if (stays_++ > 2 * x_.size()) return false;
    weigh();
    // What an H, or S† and H, on a wire can save at most: what it costs that strings flip this wire.
    std::array<std::array<double, 64>, 2> bound{};
    for (const auto& [of, weight] : weighed_) {
        const double each_wire = weight * (of.x & (of.x - 1) ? for_a_wire : 1);
        each(of.x, [&, &of = of](int wire) { bound[of.z >> wire & 1][static_cast<std::size_t>(wire)] += each_wire; });
    }
    const double now = flips(0, 0, HUGE_VAL);
    double most = worth;
    Mask h = 0, y = 0;
    for (int wire = 0; wire < static_cast<int>(x_.size()); ++wire)
        for (const bool turned : {false, true}) {
            if (bound[turned][static_cast<std::size_t>(wire)] <= most) continue;
            const Mask with = turned ? unit(wire) : 0;
            const double gain = now - flips(unit(wire), with, now - most);
            if (gain > most) most = gain, h = unit(wire), y = with;
        }
    if (manner_ == Manner::moves && move(std::max(most, worth_of_cx))) return true;
    if (y) write({Gate::sdg, 0, y});
    if (h) write({Gate::h, 0, h});
    return h != 0;
}

// Writes the CX that makes the next strings cheaper most, if by more than `least`; returns whether there is one.
bool Writer::move(double least) {
    struct Column {
        std::array<Mask, next_words> x{}, z{};  // a bit for each string
    };
    std::vector<Column> columns(x_.size());
    std::size_t k = 0;
    const auto put = [&](const Pauli& of) {
        if (k == 64 * next_words) return;
        const Mask bit = unit(static_cast<int>(k % 64));
        each(of.x, [&](int wire) { columns[static_cast<std::size_t>(wire)].x[k / 64] |= bit; });
        each(of.z, [&](int wire) { columns[static_cast<std::size_t>(wire)].z[k / 64] |= bit; });
        ++k;
    };
    for (std::size_t number = begin_, end = std::min(looked_at(), begin_ + next); number < end; ++number)
        controls_.each(waiting_[number], put);
    const auto cost = [](Mask x, Mask z) { return count(x) + for_a_read * count(z & ~x); };
    std::size_t from = 0, onto = 0;
    for (std::size_t a = 0; a < columns.size(); ++a)
        for (std::size_t b = 0; b < columns.size(); ++b) {
            if (a == b) continue;
            double gain = 0;
            for (std::size_t k = 0; k < next_words; ++k) {
                const Mask xa = columns[a].x[k], za = columns[a].z[k], xb = columns[b].x[k], zb = columns[b].z[k];
                gain += cost(xa, za) + cost(xb, zb) - cost(xa, za ^ zb) - cost(xb ^ xa, zb);
            }
            if (gain > least) least = gain, from = a, onto = b;
        }
    if (from == onto) return false;
    write({Gate::cx, static_cast<Int>(from), unit(static_cast<int>(onto))});
    return true;
}

}  // namespace qx::form
