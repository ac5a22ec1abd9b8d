// A form written out as the state grows from |0…0⟩, in a frame in which final wires are read as soon as they can be.
//
// What is still fixed is Z of the wires that are 0. A gate that is controlled by such a wire, and a phase of it, does
// nothing, so it need not be written, but the frame behind it is another one. In some such frame a rotation that does not
// commute with all that is fixed is X of one of these wires alone; the state has one dimension more then.
//
// A product of final Z's that commutes with what is still fixed can be diagonal now, where the state is small; at the end it
// would take an H on the full state. There is one more with each dimension, and it flips the wire that is no longer 0.

#include <algorithm>

#include "planner/form/write/writer.hpp"

namespace qx::form {

// Writes a rotation that flips wires that are 0, as X of one of them, after which that is no longer 0.
void Writer::grow(std::size_t number) {
    Waiting one = waiting_[number];
    std::copy_backward(waiting_.begin() + static_cast<std::ptrdiff_t>(begin_),
                       waiting_.begin() + static_cast<std::ptrdiff_t>(number),
                       waiting_.begin() + static_cast<std::ptrdiff_t>(number + 1));
    ++begin_, waits_[one.number] = false;
    Pauli& own = one.string.pauli;
    const int wire = lowest(own.x & zeros_);
    const auto change = [&](const Gate& gate) {
        pass(gate, one.string);
        pass_all(gate);
    };
    if (const Mask others = own.x & ~unit(wire)) change({Gate::cx, wire, others});
    if (own.z & unit(wire)) change({Gate::sdg, 0, unit(wire)});
    if (const Mask others = own.z) change({Gate::cz, wire, others});
    rotate(one);
    zeros_ &= ~unit(wire);
    for (Pauli next = next_final(); next.x; next = next_final()) read_final(next, wire);
}

// Returns a product of the images of final Z's that flips no wire that is 0, but another one; if there is none, nothing.
Pauli Writer::next_final() const {
    std::vector<Pauli> rows;
    for (const SignedPauli& image : z_)
        if (image.pauli.x) rows.push_back(image.pauli);
    each(zeros_, [&](int wire) {
        const auto flips = [&](const Pauli& of) { return (of.x >> wire & 1) != 0; };
        const auto first = std::find_if(rows.begin(), rows.end(), flips);
        if (first == rows.end()) return;
        const Pauli pivot = *first;
        *first = rows.back(), rows.pop_back();
        for (Pauli& row : rows)
            if (flips(row)) row ^= pivot;
    });
    const auto found = std::find_if(rows.begin(), rows.end(), [](const Pauli& of) { return of.x != 0; });
    return found == rows.end() ? Pauli{} : *found;
}

// Lets a string be Z of one of the wires that it flips, if it can be of a given one.
void Writer::read_final(Pauli string, int wire) {
    if (!(string.x >> wire & 1)) wire = highest(string.x);
    SignedPauli own{string};
    const auto change = [&](const Gate& gate) {
        pass(gate, own);
        write(gate);
    };
    if (const Mask others = own.pauli.x & ~unit(wire)) change({Gate::cx, wire, others});
    if (own.pauli.z & unit(wire)) change({Gate::sdg, 0, unit(wire)});
    if (const Mask others = own.pauli.z & ~zeros_) change({Gate::cz, wire, others});
    if (const Mask others = own.pauli.z) pass_all({Gate::cz, wire, others});
    write({Gate::h, 0, unit(wire)});
}

}  // namespace qx::form
