// Gates of a Clifford operator: phases, CX and SWAP, then H on as few wires as possible, then phases and CX.
//
// Gates before it and behind it make it the identity. The rank of what the images of Z flip is the number of H.

#include "planner/form/write/writer.hpp"

namespace qx::form {

void pass(const Gate& gate, SignedPauli& string) {
    Pauli& of = string.pauli;
    const int before = count(of.x & of.z);
    switch (gate.kind) {
        case Gate::h:
            string.negative ^= is_odd(of.x & of.z & gate.mask);
            {
                const Mask both = (of.x ^ of.z) & gate.mask;
                of.x ^= both, of.z ^= both;
            }
            return;
        case Gate::s:
            string.negative ^= is_odd(of.x & of.z & gate.mask);
            of.z ^= of.x & gate.mask;
            return;
        case Gate::sdg:
            string.negative ^= is_odd(of.x & ~of.z & gate.mask);
            of.z ^= of.x & gate.mask;
            return;
        case Gate::x: string.negative ^= is_odd(of.z & gate.mask); return;
        case Gate::z: string.negative ^= is_odd(of.x & gate.mask); return;
        case Gate::cx:  // X^x Z^z becomes such a product without a phase
            if (of.x >> gate.wire & 1) of.x ^= gate.mask;
            if (is_odd(of.z & gate.mask)) of.z ^= unit(gate.wire);
            string.negative ^= ((before - count(of.x & of.z)) >> 1) & 1;
            return;
        case Gate::cz: {  // which is CX between H on the wires of the mask
            const Gate around{Gate::h, 0, gate.mask};
            pass(around, string);
            pass({Gate::cx, gate.wire, gate.mask}, string);
            pass(around, string);
            return;
        }
        case Gate::swap:
            for (Mask* mask : {&of.x, &of.z}) {
                const int other = lowest(gate.mask);
                const Mask both = (*mask >> gate.wire ^ *mask >> other) & 1;
                *mask ^= both << gate.wire | both << other;
            }
            return;
        case Gate::rotation:
        case Gate::controlled:
        case Gate::flip:
        case Gate::matrix:
        case Gate::phase: return;
    }
}

namespace {

// Returns the product of two times a power of i that makes it Hermitian.
SignedPauli product(const SignedPauli& a, const SignedPauli& b, int power) {
    const Pauli c{a.pauli.x ^ b.pauli.x, a.pauli.z ^ b.pauli.z};
    power +=
        count(a.pauli.x & a.pauli.z) + count(b.pauli.x & b.pauli.z) + 2 * count(a.pauli.z & b.pauli.x) - count(c.x & c.z);
    return {c, (a.negative != b.negative) != ((power & 2) != 0)};
}

class CliffordGates {
  public:
    CliffordGates(std::vector<SignedPauli> x, std::vector<SignedPauli> z) : x_(std::move(x)), z_(std::move(z)) {
        separate();
        flips_to_units();
        phases_to_units();
        each(flipping_, [&](int wire) { without_phases(wire, z_); });
        each(flipping_, [&](int wire) { without_flips(wire); });
        each(flipping_, [&](int wire) {
            std::swap(x_[place(wire)], z_[place(wire)]);
            behind_.push_back({Gate::h, 0, unit(wire)});
        });
        for (int wire = 0; wire < wires(); ++wire) without_phases(wire, x_);
        for (int wire = 0; wire < wires(); ++wire) {
            if (x_[place(wire)].negative) before({Gate::z, 0, unit(wire)});
            if (z_[place(wire)].negative) before({Gate::x, 0, unit(wire)});
        }
        for (auto gate = behind_.rbegin(); gate != behind_.rend(); ++gate) {
            gates.push_back(*gate);
            if (gate->kind == Gate::s) gates.back().kind = Gate::sdg;
        }
    }

    std::vector<Gate> gates;

  private:
    static std::size_t place(int wire) { return static_cast<std::size_t>(wire); }
    int wires() const { return static_cast<int>(x_.size()); }

    // Lets the images of Z of some wires flip independent strings, and those of the others none.
    void separate() {
        int pivots[64];  // of a bit of X the wire
        Mask known = 0;
        for (int wire = 0; wire < wires(); ++wire) {
            const Mask& x = z_[place(wire)].pauli.x;
            while (x && known >> highest(x) & 1) behind(Gate::cx, pivots[highest(x)], wire);
            if (x) pivots[highest(x)] = wire, known |= unit(highest(x)), flipping_ |= unit(wire);
        }
    }
    // Lets each of these images flip its own wire alone.
    void flips_to_units() {
        Mask left = flipping_;
        each(flipping_, [&](int wire) {
            const Mask mine = ~flipping_ | left;
            const Mask& x = z_[place(wire)].pauli.x;
            if (!(x >> wire & 1)) before({Gate::swap, lowest(x & mine), unit(wire)});
            if (const Mask others = x & ~unit(wire)) before({Gate::cx, wire, others});
            left &= ~unit(wire);
        });
    }
    // Lets each image of Z that flips nothing be Z of its own wire.
    void phases_to_units() {
        const Mask still = ~flipping_ & below(wires());
        Mask left = still;
        each(still, [&](int wire) {
            const Mask mine = ~still | left;
            const Mask& z = z_[place(wire)].pauli.z;
            if (!(z >> wire & 1)) before({Gate::swap, wire, unit(lowest(z & mine))});
            each(z & ~unit(wire), [&](int other) { before({Gate::cx, other, unit(wire)}); });
            left &= ~unit(wire);
        });
    }
    // Lets an image that flips its own wire be X there, by phases before the operator.
    void without_phases(int wire, const std::vector<SignedPauli>& images) {
        const Mask z = images[place(wire)].pauli.z;
        if (z & unit(wire)) before({Gate::s, 0, unit(wire)});
        if (const Mask others = z & ~unit(wire)) before({Gate::cz, wire, others});
    }
    // Lets the image of X of a wire whose Z is X be Z there, by phases behind the operator.
    void without_flips(int wire) {
        const Pauli of = x_[place(wire)].pauli;
        each(of.x | (of.z & ~unit(wire)), [&](int other) { behind(other == wire ? Gate::s : Gate::cz, wire, other); });
    }
    void before(const Gate& gate) {
        for (SignedPauli& image : x_) pass(gate, image);
        for (SignedPauli& image : z_) pass(gate, image);
        gates.push_back(gate);
    }
    void behind(Gate::Kind kind, int first, int last) {
        SignedPauli &x = x_[place(first)], &z = z_[place(first)], &to_x = x_[place(last)], &to_z = z_[place(last)];
        if (kind == Gate::s) x = product(x, z, 3);
        else if (kind == Gate::cx) x = product(x, to_x, 0), to_z = product(z, to_z, 0);
        else {
            const SignedPauli one = product(x, to_z, 0);
            to_x = product(to_x, z, 0), x = one;
        }
        behind_.push_back({kind, first, unit(last)});
    }

    std::vector<SignedPauli> x_, z_;
    Mask flipping_ = 0;
    std::vector<Gate> behind_;  // from the last one on
};

}  // namespace

std::vector<Gate> clifford_gates(std::vector<SignedPauli> x, std::vector<SignedPauli> z) {
    return CliffordGates(std::move(x), std::move(z)).gates;
}

std::vector<Gate> on_zeros(const std::vector<Gate>& gates, Mask zeros) {
    if (!zeros) return gates;
    std::vector<Gate> out;
    Mask known = zeros, ones = 0;
    const auto put = [&](Gate gate, Mask mask) {
        gate.mask = mask;
        if (mask) out.push_back(gate);
    };
    const auto lose = [&](Mask wires) {
        put({Gate::x, 0, 0}, wires & ones);
        known &= ~wires, ones &= ~wires;
    };
    for (const Gate& gate : gates) {
        const Mask left = gate.mask & ~known, control = unit(gate.wire);
        switch (gate.kind) {
            case Gate::x: ones ^= gate.mask & known, put(gate, left); break;
            case Gate::s:
            case Gate::sdg:
            case Gate::z: put(gate, left); break;
            case Gate::cx:
                if (!(known & control)) lose(gate.mask), put(gate, gate.mask);
                else if (ones & control) ones ^= gate.mask & known, put({Gate::x, 0, 0}, left);
                break;
            case Gate::cz:
                if (known & control) put({Gate::z, 0, 0}, ones & control ? left : 0);
                else put({Gate::z, 0, 0}, is_odd(gate.mask & ones) ? control : 0), put(gate, left);
                break;
            case Gate::swap:
                if ((control | gate.mask) & ~known) put(gate, gate.mask);
                for (Mask* mask : {&known, &ones})
                    if (const Mask both = *mask & (control | gate.mask); both == control || both == gate.mask)
                        *mask ^= control | gate.mask;
                break;
            default: lose(gate.mask), put(gate, gate.mask);  // H
        }
    }
    lose(known);
    return out;
}

}  // namespace qx::form
