// A Clifford operator C as a tableau: what C† X C and C† Z C are for each wire, bits packed in words.
//
// An operator that acts after C, on few wires, changes the rows of these wires alone: that is how a circuit is read. One
// that acts before C changes every row that it anticommutes with. A tableau knows C up to a global phase; `StabilizerState`
// knows the phase.
#pragma once

#include <vector>

#include "planner/form/pauli.hpp"

namespace qx::form {

class Tableau {
  public:
    using Word = Mask;

    // The identity on so many wires, of which there may be any number.
    explicit Tableau(int wires);

    int wires() const { return wires_; }
    // How many words the X bits of a row have; its Z bits follow.
    int words() const { return words_; }
    // The image of X of a wire, and of its Z: words, and whether it is negative.
    const Word* x_row(int wire) const { return row(wire); }
    const Word* z_row(int wire) const { return row(wires_ + wire); }
    bool x_negative(int wire) const { return negative_[place(wire)]; }
    bool z_negative(int wire) const { return negative_[place(wires_ + wire)]; }

    // Sets an image, of X of a wire or of its Z; it is for whoever makes all of them.
    void set_x(int wire, const SignedPauli& image) { set(wire, image); }
    void set_z(int wire, const SignedPauli& image) { set(wires_ + wire, image); }

    // Lets exp(-i k π/4 Q) act after C; q: the words of Q.
    void turn(const Word* q, int quarters);
    // Lets exp(-i k π/4 P) act before C.
    void turn_before(const Word* p, int quarters);
    // Writes C† Q C; returns whether it is negative.
    bool image(const Word* q, Word* out) const;
    // Writes C P C†; returns whether it is negative.
    bool preimage(const Word* p, Word* out) const;

    // The same for a Pauli string of at most 64 wires.
    void turn(const Pauli& q, int quarters) { turn(&q.x, quarters); }
    void turn_before(const Pauli& p, int quarters) { turn_before(&p.x, quarters); }
    SignedPauli image(const Pauli& q) const {
        SignedPauli out;
        out.negative = image(&q.x, &out.pauli.x);
        return out;
    }
    SignedPauli preimage(const Pauli& p) const {
        SignedPauli out;
        out.negative = preimage(&p.x, &out.pauli.x);
        return out;
    }

  private:
    static std::size_t place(int number) { return static_cast<std::size_t>(number); }
    const Word* row(int number) const { return rows_.data() + place(number) * 2 * place(words_); }
    Word* row(int number) { return rows_.data() + place(number) * 2 * place(words_); }
    void set(int number, const SignedPauli& image) {
        row(number)[0] = image.pauli.x, row(number)[1] = image.pauli.z;
        negative_[place(number)] = image.negative;
    }
    bool anticommutes(const Word* a, const Word* b) const;
    void change(int number, const Word* by, bool negative, int quarters);
    // Multiplies a product X^x Z^z, times a power of i, by a row.
    void multiply(Word* product, int& power, int number) const;

    int wires_, words_;
    std::vector<Word> rows_;
    std::vector<char> negative_;
    std::vector<Word> turned_;  // of `turn`: the image of its Pauli string
};

}  // namespace qx::form
