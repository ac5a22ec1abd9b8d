// A Clifford operator as a tableau.

#include "planner/form/tableau.hpp"

namespace qx::form {

Tableau::Tableau(int wires)
    : wires_(wires), words_(wires > 64 ? (wires + 63) / 64 : 1), rows_(4 * place(wires) * place(words_)),
      negative_(2 * place(wires)), turned_(2 * place(words_)) {
    for (int wire = 0; wire < wires; ++wire) {
        row(wire)[wire / 64] |= unit(wire % 64);
        row(wires + wire)[words_ + wire / 64] |= unit(wire % 64);
    }
}

bool Tableau::anticommutes(const Word* a, const Word* b) const {
    Word odd = 0;
    for (int k = 0; k < words_; ++k) odd ^= (a[k] & b[words_ + k]) ^ (a[words_ + k] & b[k]);
    return is_odd(odd);
}

// Replaces a row A by A exp(-i k π/2 B), where A and B anticommute: -A for two quarters, -iAB for one, iAB for three.
void Tableau::change(int number, const Word* by, bool negative, int quarters) {
    char& sign = negative_[place(number)];
    if (quarters == 2) {
        sign ^= 1;
        return;
    }
    Word* own = row(number);
    int power = quarters == 1 ? 3 : 1;
    for (int k = 0; k < words_; ++k) {
        Word &x = own[k], &z = own[words_ + k];
        power += count(x & z) + count(by[k] & by[words_ + k]) + 2 * count(z & by[k]);
        x ^= by[k], z ^= by[words_ + k];
        power -= count(x & z);
    }
    sign ^= static_cast<char>((power >> 1 & 1) ^ negative);
}

void Tableau::turn(const Word* q, int quarters) {
    quarters &= 3;
    if (!quarters) return;
    const bool negative = image(q, turned_.data());
    for (int k = 0; k < words_; ++k) {
        each(q[words_ + k], [&](int bit) { change(64 * k + bit, turned_.data(), negative, quarters); });
        each(q[k], [&](int bit) { change(wires_ + 64 * k + bit, turned_.data(), negative, quarters); });
    }
}

void Tableau::turn_before(const Word* p, int quarters) {
    quarters &= 3;
    if (!quarters) return;
    for (int number = 0; number < 2 * wires_; ++number)
        if (anticommutes(row(number), p)) change(number, p, false, quarters);
}

void Tableau::multiply(Word* product, int& power, int number) const {
    const Word* by = row(number);
    power += 2 * negative_[place(number)];
    for (int k = 0; k < words_; ++k) {
        power += count(by[k] & by[words_ + k]) + 2 * count(product[words_ + k] & by[k]);
        product[k] ^= by[k], product[words_ + k] ^= by[words_ + k];
    }
}

bool Tableau::image(const Word* q, Word* out) const {
    int power = 0;
    for (int k = 0; k < 2 * words_; ++k) out[k] = 0;
    for (int k = 0; k < words_; ++k) power += count(q[k] & q[words_ + k]);
    for (int k = 0; k < words_; ++k) each(q[k], [&](int bit) { multiply(out, power, 64 * k + bit); });
    for (int k = 0; k < words_; ++k) each(q[words_ + k], [&](int bit) { multiply(out, power, wires_ + 64 * k + bit); });
    for (int k = 0; k < words_; ++k) power -= count(out[k] & out[words_ + k]);
    return power & 2;
}

// C P C† has X on a wire if it anticommutes with Z there, which is to say if P anticommutes with C† Z C.
bool Tableau::preimage(const Word* p, Word* out) const {
    for (int k = 0; k < 2 * words_; ++k) out[k] = 0;
    for (int wire = 0; wire < wires_; ++wire) {
        if (anticommutes(z_row(wire), p)) out[wire / 64] |= unit(wire % 64);
        if (anticommutes(x_row(wire), p)) out[words_ + wire / 64] |= unit(wire % 64);
    }
    std::vector<Word> back(2 * place(words_));
    return image(out, back.data());
}

}  // namespace qx::form
