// A form written out between the gates on several wires that the circuit has: only frames of single wires are chosen.
//
// On each wire a frame says which of X, Y and Z is written as which. Rotations are cheap about Z, and reflections where they
// are CZ or CX. The cheapest frames along a wire are found one wire after another, each from its first item to its last.

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "planner/form/write/writer.hpp"

namespace qx::form {

namespace {

// What an item costs for a wire, by how its operator there is written: as X, Z, or Y. Of a reflection that depends on how
// the other one is written: behind CZ stand CX and CY, and two that both flip want an H on each side.
using Costs = std::array<double, 4>;
constexpr Costs for_alone{0, 1, 0.05, 0.9}, for_joint{0, 1, 0, 1};
constexpr std::array<Costs, 4> for_reflected{{{}, {0, 2, 0.25, 2.2}, {0, 0.25, 0, 0.4}, {0, 2.2, 0.4, 2.4}}};
// Where a plan in a CNOT frame may pay: CX costs nothing there, and CZ is a phase.
constexpr std::array<Costs, 4> for_reflected_as_cx{{{}, {0, 4, 0, 4.2}, {0, 0, 0.3, 0.15}, {0, 4.2, 0.15, 4.4}}};
constexpr double for_h = 1, for_h_beside = 0.3;  // beside a turn of the same wire, with which it is one matrix
constexpr int most_rounds = 2;

// How X, Z and Y, at the places 1, 2 and 3, are written: frames, and the gates that lead from one to another.
using Frame3 = std::array<int, 4>;
constexpr std::size_t num_frames = 6;
constexpr std::array<Frame3, num_frames> frames3{
    {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 2, 1}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 1, 3, 2}}};
constexpr std::array<const char*, num_frames> words{"", "h", "s", "sh", "hs", "hsh"};

// Returns the gates behind which one frame is another one.
const char* word(std::size_t from, std::size_t to) {
    for (const char* found : words) {
        Frame3 at = frames3[from];
        for (const char* gate = found; *gate; ++gate)
            for (int& one : at) {
                const int kept = *gate == 'h' ? 3 : 2;  // the letter that a gate leaves: Y of H, Z of S
                if (one && one != kept) one = (*gate == 'h' ? 3 : 4) - one;
            }
        if (at == frames3[to]) return found;
    }
    return "";
}

bool has_h(const char* word) {
    for (; *word; ++word)
        if (*word == 'h') return true;
    return false;
}

struct Step {
    int letter;
    const Costs* costs;
    bool alone;
};

// Returns the cheapest frames of some steps, the first of which begins in the frame of the circuit.
std::vector<unsigned char> cheapest_frames(const std::vector<Step>& steps, int last_z) {
    bool h[num_frames][num_frames];
    for (std::size_t a = 0; a < num_frames; ++a)
        for (std::size_t b = 0; b < num_frames; ++b) h[a][b] = has_h(word(a, b));
    std::array<double, num_frames> cost{};
    cost.fill(std::numeric_limits<double>::infinity());
    cost[0] = 0;
    std::vector<std::array<unsigned char, num_frames>> from(steps.size());
    bool turned[num_frames] = {};  // whether the step before is a turn there, with which H is one
    for (std::size_t k = 0; k < steps.size(); ++k) {
        std::array<double, num_frames> next{};
        bool turns[num_frames] = {};
        for (std::size_t to = 0; to < num_frames; ++to) {
            const int written = frames3[to][static_cast<std::size_t>(steps[k].letter)];
            turns[to] = steps[k].alone && written != 2;
            next[to] = std::numeric_limits<double>::infinity();
            for (std::size_t at = 0; at < num_frames; ++at) {
                const double change = at == to ? 0 : !h[at][to] ? 0.02 : turns[to] || turned[at] ? for_h_beside : for_h;
                const double own = turns[to] && turned[at] ? 0.1 : (*steps[k].costs)[static_cast<std::size_t>(written)];
                if (const double all = cost[at] + change + own; all < next[to]) {
                    next[to] = all;
                    from[k][to] = static_cast<unsigned char>(at);
                }
            }
        }
        cost = next;
        std::copy(turns, turns + num_frames, turned);
    }
    std::size_t best = 0;
    for (std::size_t at = 0; at < num_frames; ++at) {
        cost[at] += frames3[at][static_cast<std::size_t>(last_z)] == 2 ? 0 : turned[at] ? for_h_beside : for_h;
        if (cost[at] < cost[best]) best = at;
    }
    std::vector<unsigned char> out(steps.size());
    for (std::size_t k = steps.size(); k-- > 0; best = from[k][best]) out[k] = static_cast<unsigned char>(best);
    return out;
}

bool is_eighth(const Angle& of) {
    constexpr double eighth = 0.78539816339744830962, tolerance = 1e-12;
    return !of.varies() && std::fabs(std::remainder(of.value - eighth, 2 * eighth)) < tolerance;
}

}  // namespace

// Chooses the frames of a wire, with those of others as they are.
void Writer::choose_frames(int wire) {
    std::vector<Step> steps;
    std::vector<unsigned char*> letters;
    const std::array<Costs, 4>& reflected = as_cx_ ? for_reflected_as_cx : for_reflected;
    for (const Index number : wires_->on_wire[static_cast<std::size_t>(wire)]) {
        const WireItem& item = wires_->items[number];
        if (item.gone) continue;
        const bool second = !letter(item.a, wire);
        auto& written = written_as_[number];
        letters.push_back(&written[second]);
        const bool alone = item.wires() == unit(wire);
        const Costs& costs = item.reflects() ? reflected[written[!second]] : alone ? for_alone : for_joint;
        steps.push_back({letter(second ? item.b : item.a, wire), &costs, alone});
    }
    const Tableau& local = wires_->local;
    int last = 0;
    for (int row = 0; row < local.wires(); ++row) {
        const Pauli image{local.z_row(row)[0], local.z_row(row)[1]};
        if ((image.x | image.z) == unit(wire)) last = letter(image, wire);
    }
    std::vector<unsigned char>& own = frames_of_[static_cast<std::size_t>(wire)];
    own = cheapest_frames(steps, last);
    for (std::size_t k = 0; k < steps.size(); ++k)
        *letters[k] = static_cast<unsigned char>(frames3[own[k]][static_cast<std::size_t>(steps[k].letter)]);
}

// Begins with all wires in the frame of the circuit, and items as they were read, but where most are to be CX.
void Writer::begin_between() {
    const Tableau& local = wires_->local;
    for (int wire = 0; wire < local.wires(); ++wire) {
        const Mask *x = local.x_row(wire), *z = local.z_row(wire), own = unit(wire);
        x_.push_back({{x[0], x[1]}, local.x_negative(wire)});
        z_.push_back({{z[0], z[1]}, local.z_negative(wire)});
        frame_of_.push_back({{{own, 0}}, {{0, own}}, {{own, own}}});
    }
    frames_of_.resize(x_.size());
    if (!as_cx_) written_as_ = wires_->letters();
    phase.value += wires_->first_phase() * (std::numbers::pi / 4);
}

// Lets a gate of one wire act on what is left, and writes it if it is one.
void Writer::change_frame(const Gate& gate, bool written) {
    if (written) gates.push_back(gate);
    each(gate.mask, [&](int wire) {
        WireFrame& own = frame_of_[static_cast<std::size_t>(wire)];
        pass(gate, own.x), pass(gate, own.z), pass(gate, own.y);
    });
    for (SignedPauli& image : x_) pass(gate, image);
    for (SignedPauli& image : z_) pass(gate, image);
}

// What a string is in the frames of now.
SignedPauli Writer::in_frames(const Pauli& of) const {
    SignedPauli out;
    each(of.x | of.z, [&](int wire) {
        const WireFrame& own = frame_of_[static_cast<std::size_t>(wire)];
        const SignedPauli& one = letter(of, wire) == 1 ? own.x : letter(of, wire) == 2 ? own.z : own.y;
        out.pauli ^= one.pauli, out.negative ^= one.negative;
    });
    return out;
}

// Writes an item in the frames that were chosen for it.
void Writer::write_item(const WireItem& item) {
    each(item.wires(), [&](int wire) {
        WireFrame& own = frame_of_[static_cast<std::size_t>(wire)];
        const std::size_t to = frames_of_[static_cast<std::size_t>(wire)][own.next++];
        for (const char* gate = word(own.at, to); *gate; ++gate)
            change_frame({*gate == 'h' ? Gate::h : Gate::s, 0, unit(wire)}, true);
        own.at = to;
    });
    if (item.reflects()) return write_reflection(in_frames(item.a), in_frames(item.b));
    std::vector<Gate> around;
    Waiting one{in_frames(item.a), item.angle, item.quarters};
    const auto change = [&](const Gate& gate) { around.push_back(gate), pass(gate, one.string); };
    const Mask flips = one.string.pauli.x, pivot = flips & -flips;
    if (count(flips) > 2) change({Gate::cx, lowest(pivot), flips ^ pivot});
    if (count(flips) == 1 && is_eighth(item.angle)) {
        if (one.string.pauli.z & pivot) change({Gate::sdg, 0, pivot});
        change({Gate::h, 0, pivot});
    }
    gates.insert(gates.end(), around.begin(), around.end());
    rotate(one);
    undo(around);
}

// Writes gates that undo others, in their order.
void Writer::undo(const std::vector<Gate>& around) {
    for (auto gate = around.rbegin(); gate != around.rend(); ++gate) {
        gates.push_back(*gate);
        if (gate->kind == Gate::sdg) gates.back().kind = Gate::s;
    }
}

// Writes a reflection about two operators. Where one is negative, it is about the positive one, and the other operator.
void Writer::write_reflection(SignedPauli a, SignedPauli b) {
    const Pauli &p = a.pauli, &q = b.pauli;
    const auto turned = [&](const Pauli& by) {
        if (by.x) change_frame({Gate::x, 0, by.x}, false);
        if (by.z) change_frame({Gate::z, 0, by.z}, false);
    };
    if (a.negative) turned(q);
    if (b.negative) turned(p);
    const bool swapped = p.x && !q.x;
    const Pauli control = swapped ? q : p, target = swapped ? p : q;
    std::vector<Gate> around;
    if (control.x) {
        if (control.z) around.push_back({Gate::sdg, 0, control.x});
        around.push_back({Gate::h, 0, control.x});
    }
    if (target.x && target.z) around.push_back({Gate::sdg, 0, target.x});
    gates.insert(gates.end(), around.begin(), around.end());
    gates.push_back({target.x ? Gate::cx : Gate::cz, lowest(control.x | control.z), target.x | target.z});
    undo(around);
}

// Does a bounded amount of work; returns whether there is more. Where reflections can be CX the circuit is read again, for
// these, and none cancel. A plan in a CNOT frame may pay from `cx_ratio_` of them for each turn on, in the geometric mean of
// both readings: of a Pauli string's ladder none is left, of checks of a code around errors half, but more rotations.
bool Writer::between_gates() {
    if (wires_->advance()) return true;
    const int num_wires = static_cast<int>(wires_->on_wire.size());
    if (x_.empty()) {
        const double number = reflections_per_turn(*wires_);
        const double least = usual_wires_ ? cx_ratio_ * cx_ratio_ / usual_reflections_ : cx_ratio_ / 2;
        written_as_ = number > least ? cx_letters(*wires_) : Letters{};
        const bool may = !written_as_.empty();
        if (may && !usual_wires_) {
            usual_wires_ = std::exchange(wires_, std::make_unique<Wires>(form_, sums_, true));
            usual_reflections_ = number;
            return true;
        }
        as_cx_ = may;
        if (usual_wires_ && !may) wires_ = std::move(usual_wires_);
        begin_between();
    }
    if (chosen_ < most_rounds * num_wires) return choose_frames(chosen_++ % num_wires), true;
    for (int left = 256; left > 0 && next_item_ < wires_->items.size(); --left)
        if (const WireItem& item = wires_->items[next_item_++]; !item.gone) write_item(item);
    return next_item_ < wires_->items.size();
}

}  // namespace qx::form
