// What was read as joint phases of some wires.

#include "planner/form/clusters/pieces.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace qx::form {

namespace {

constexpr double pi = std::numbers::pi, rounding = 1e-12;

}  // namespace

Matrix2 operator_matrix(bool x, bool z) {
    if (!x) return {1, 0, 0, -1};
    return z ? Matrix2{0, {0, -1}, {0, 1}, 0} : Matrix2{0, 1, 1, 0};
}

Matrix2 to_z(bool x, bool z) {
    constexpr double root = std::numbers::sqrt2 / 2;
    if (!x) return identity2;
    const Matrix2 h{root, root, root, -root};
    return z ? h * phase2(-pi / 2) : h;
}

Matrix2 operator_of(const Pauli& of, Mask wire) { return operator_matrix((of.x & wire) != 0, (of.z & wire) != 0); }

Matrix2 to_z(const Pauli& of, Mask wire) { return to_z((of.x & wire) != 0, (of.z & wire) != 0); }

Matrix2 turn_about(const Pauli& of, double angle) {
    Matrix2 out = operator_of(of, of.x | of.z);
    for (std::size_t k = 0; k < 4; ++k)
        out[k] = std::cos(angle / 2) * identity2[k] - Complex(0, std::sin(angle / 2)) * out[k];
    return out;
}

std::size_t take_flips(std::vector<Complex>& entries, std::size_t size) {
    std::size_t best = 0, most = 0;
    for (std::size_t flips = 0; flips < size; ++flips) {
        std::size_t filled = 0;
        for (std::size_t k = 0; k < size; ++k) filled += size_of(entries[size * (k ^ flips) + k]) > rounding;
        if (filled > most) best = flips, most = filled;
    }
    for (std::size_t k = 0; best && k < entries.size(); ++k)
        if (const std::size_t other = k ^ size * best; k < other) std::swap(entries[k], entries[other]);
    return best;
}

void Pieces::put(Piece piece, bool settles) {
    if (piece.kind == Piece::block) return put_block(std::move(piece));
    if (piece.kind == Piece::pair) return put_pair(std::move(piece));
    if (piece.kind == Piece::controlled) return put_controlled(std::move(piece));
    if (piece.kind == Piece::swap) return put_swap(std::move(piece));
    if (piece.kind == Piece::turn) {
        Matrix2& own = carried(lowest(piece.wires));
        own = piece.before[0] * own;
        return;
    }
    if (piece.kind == Piece::rotation) {
        each(piece.wires, [&](int wire) {
            if (!is_nothing(carried(wire))) all.push_back({Piece::turn, unit(wire), 0, 0, {carried(wire)}});
            carried(wire) = identity2;
        });
        untouched_ &= ~piece.wires;
        return all.push_back(std::move(piece));
    }
    if (settles && zeros_ && put_on_zeros(piece)) return;
    std::size_t place = 0;
    each(piece.wires, [&](int wire) {
        Matrix2& before = piece.before[place++];
        before = before * carried(wire);
        carried(wire) = split_phases(before);
        if (settles && std::abs(before[0]) < rounding) {  // X, which passes a phase of the other value
            carried(wire) = carried(wire) * operator_matrix(true, false), before = identity2;
            if (piece.kind == Piece::parity) piece.angle = -piece.angle;
            else piece.values ^= unit(wire);
        }
    });
    const bool is_cz = std::fabs(std::remainder(piece.angle - pi / 2, pi)) < rounding;
    if (piece.kind == Piece::parity && count(piece.wires) == 2 && (is_cz || settles)) {
        each(piece.wires, [&](int wire) { carried(wire) = carried(wire) * phase2(piece.angle); });
        add_phase(-piece.angle / 2);
        piece.kind = Piece::where, piece.angle = is_cz ? pi : std::remainder(-2 * piece.angle, 2 * pi),
        piece.values = piece.wires;
    }
    if (settles && piece.kind == Piece::where && count(piece.wires) == 2) put_ones(piece);
    untouched_ &= ~piece.wires;
    all.push_back(std::move(piece));
}

// Makes a phase of two wires one where both are 1; the phases of one wire that are left pass it.
void Pieces::put_ones(Piece& piece) {
    each(piece.wires, [&](int wire) {
        if (piece.values >> wire & 1) return;
        const int other = lowest(piece.wires & ~unit(wire));
        const Complex by = std::polar(1.0, piece.angle);
        carried(other) = carried(other) * (piece.values >> other & 1 ? Matrix2{1, 0, 0, by} : Matrix2{by, 0, 0, 1});
        piece.values |= unit(wire), piece.angle = -piece.angle;
    });
}

// Takes wires that are known to be 0 or 1 off a piece; returns whether nothing is left, but for turns.
bool Pieces::put_on_zeros(Piece& piece) {
    Mask left = 0;
    bool nowhere = false;
    std::vector<Matrix2> before;
    std::size_t place = 0;
    each(piece.wires, [&](int wire) {
        const Matrix2 own = piece.before[place++] * carried(wire);
        const bool is_zero = size_of(own[2]) < rounding, is_one = size_of(own[0]) < rounding;
        if (!(untouched_ & unit(wire)) || !(is_zero || is_one)) {
            before.push_back(piece.before[place - 1]), left |= unit(wire);
            return;
        }
        carried(wire) = own;
        if (piece.kind == Piece::parity && is_one) piece.angle = -piece.angle;
        if (piece.kind == Piece::where && is_one != ((piece.values & unit(wire)) != 0)) nowhere = true;
    });
    piece.wires = left, piece.values &= left, piece.before = std::move(before);
    if (count(left) > 1 && !nowhere) return false;
    each(left, [&](int wire) { carried(wire) = piece.turn_of(wire) * carried(wire); });
    if (piece.parts > 1) nothing += piece.parts;
    if (nowhere) return true;
    if (piece.kind == Piece::parity) add_phase(-piece.angle / 2);
    else if (!piece.values) add_phase(piece.angle), piece.angle = -piece.angle;
    if (left) carried(lowest(left)) = phase2(piece.angle) * carried(lowest(left));
    return true;
}

// Puts a matrix of a pair behind its turns, whose phases are part of it. Its own phases pass it, so that it is real where a
// state stays as it is, and 1 where both are 0.
void Pieces::put_pair(Piece piece) {
    std::size_t place = 0;
    each(piece.wires, [&](int wire) {
        Matrix2& before = piece.before[place];
        before = before * carried(wire);
        const Matrix2 phases = split_phases(before);
        for (std::size_t k = 0; k < piece.entries.size(); ++k)
            piece.entries[k] = times(piece.entries[k], phases[k >> place & 1 ? 3 : 0]);
        ++place;
    });
    const double all_of = std::arg(piece.entries[0]);
    const std::array<double, 2> of{std::arg(piece.entries[5]) - all_of, std::arg(piece.entries[10]) - all_of};
    for (std::size_t k = 0; k < piece.entries.size(); ++k)
        piece.entries[k] = times(piece.entries[k], std::polar(1.0, -all_of - (k & 4 ? of[0] : 0) - (k & 8 ? of[1] : 0)));
    add_phase(all_of);
    place = 0;
    each(piece.wires, [&](int wire) { carried(wire) = phase2(of[place++]); });
    untouched_ &= ~piece.wires;
    all.push_back(std::move(piece));
}

namespace {

// Whether a matrix of two wires is a sum of the identity and a swap.
bool is_any_swap(const std::vector<Complex>& of) {
    bool out = std::abs(of[0] - of[15]) < rounding;
    for (std::size_t k = 0; k < 16; ++k) {
        const std::size_t row = k >> 2, column = k & 3;
        if (count(row) != count(column)) out = out && std::abs(of[k]) < rounding;
    }
    return out && std::abs(of[5] - of[10]) < rounding && std::abs(of[6] - of[9]) < rounding &&
           std::abs(of[5] + of[6] - of[0]) < rounding;
}

}  // namespace

// Puts a matrix under controls. Phases before its wires pass it, and its first entry is positive: that phase is one of the
// controls. What is a sum of the identity and a swap any turn of both wires passes, too, where both have turns: that before
// the wire that others have used, so that along swaps of many wires no turns are left.
void Pieces::put_controlled(Piece piece) {
    const Mask both = piece.wires & ~piece.control;
    const int first = lowest(both & ~untouched_ ? both & ~untouched_ : both), second = lowest(both & ~unit(first));
    const Matrix2 turn = piece.turn_of(first) * carried(first), other = piece.turn_of(second) * carried(second);
    const bool have_turns = size_of(turn[1]) > rounding && size_of(other[1]) > rounding;
    const bool passes = have_turns && is_any_swap(piece.entries);
    std::size_t place = 0, bit = 1;
    Piece behind{Piece::where, 0};  // its phase, under several controls
    each(piece.wires, [&](int wire) {
        Matrix2& before = piece.before[place++];
        before = before * carried(wire);
        const bool is_control = piece.control >> wire & 1;
        if (passes && !is_control) {
            before = adjoint(turn) * before, carried(wire) = turn;
            return;
        }
        const Matrix2 phases = carried(wire) = split_phases(before);
        if (is_control) return;
        const Complex apart = times(phases[3], std::conj(phases[0]));
        for (std::size_t k = 0; k < piece.entries.size(); ++k)
            if (const bool row = k / 4 & bit, column = k & bit; row != column)
                piece.entries[k] = times(piece.entries[k], row ? std::conj(apart) : apart);
        bit *= 2;
    });
    if (const double length = std::abs(piece.entries[0]); length > rounding) {
        const Complex by = piece.entries[0] / length;
        for (Complex& one : piece.entries) one = times(one, std::conj(by));
        const auto number = static_cast<std::size_t>(count(piece.control));
        if (number > 1 && size_of(by - 1.0) > rounding)
            behind = {
                Piece::where, piece.control, std::arg(by), piece.values, std::vector<Matrix2>(number, identity2), {}, 0, 0};
        Matrix2& own = carried(lowest(piece.control));
        if (number == 1) own = own * (piece.values ? Matrix2{1, 0, 0, by} : Matrix2{by, 0, 0, 1});
    }
    untouched_ &= ~piece.wires;
    all.push_back(std::move(piece));
    if (behind.wires) put(std::move(behind), true);
}

// Lets two wires change places, and what acts on them.
void Pieces::put_swap(Piece piece) {
    std::swap(carried(lowest(piece.wires)), carried(highest(piece.wires)));
    untouched_ &= ~piece.wires;
    all.push_back(std::move(piece));
}

namespace {

// Lets a turn of a bit act before a matrix.
std::vector<Complex> behind(const Matrix2& turn, std::size_t bit, std::vector<Complex> entries) {
    for (std::size_t k = 0; k < entries.size(); ++k)
        if (!(k & bit)) {
            const Complex a = entries[k], b = entries[k | bit];
            entries[k] = times(a, turn[0]) + times(b, turn[2]);
            entries[k | bit] = times(a, turn[1]) + times(b, turn[3]);
        }
    return entries;
}

// Makes 0 and 1 of what only rounding has made others; returns how many are 0.
std::size_t settle_entries(std::vector<Complex>& entries) {
    std::size_t zeros = 0;
    for (Complex& one : entries)
        if (size_of(one) < rounding) one = 0, ++zeros;
        else if (size_of(one - 1.0) < rounding) one = 1;
    return zeros;
}

}  // namespace

// Puts a block with the turns before it, as far as these leave its zeros. Phases pass it, so that where one bit is 1, or
// none, what a state keeps of itself is positive.
void Pieces::put_block(Piece piece) {
    const std::size_t size = std::size_t{1} << count(piece.wires);
    piece.before.resize(static_cast<std::size_t>(count(piece.wires)), identity2);
    std::size_t bit = 1, place = 0, zeros = settle_entries(piece.entries);
    each(piece.wires, [&](int wire) {
        Matrix2 turn = piece.before[place] * carried(wire);
        std::vector<Complex> whole = behind(turn, bit, piece.entries);
        if (const std::size_t left = settle_entries(whole); left >= zeros) {
            piece.entries = std::move(whole), zeros = left;
            piece.before[place] = identity2;
        } else {
            piece.entries = behind(split_phases(turn), bit, std::move(piece.entries));
            piece.before[place] = turn;
        }
        bit *= 2, ++place;
    });
    const std::size_t flips = take_flips(piece.entries, size);
    const auto angle = [&](std::size_t row, double none) {
        const Complex own = piece.entries[(size + 1) * row];
        return size_of(own) < rounding ? none : std::arg(own);
    };
    const double all_of = angle(0, 0);
    add_phase(all_of);
    bit = 1;
    each(piece.wires, [&](int wire) {
        const double own = angle(bit, all_of) - all_of;
        carried(wire) = flips & bit ? operator_matrix(true, false) * phase2(own) : phase2(own);
        for (std::size_t k = 0; k < piece.entries.size(); ++k)
            if (k / size & bit) piece.entries[k] = times(piece.entries[k], std::polar(1.0, -own));
        bit *= 2;
    });
    for (Complex& one : piece.entries) one = times(one, std::polar(1.0, -all_of));
    settle_entries(piece.entries);
    untouched_ &= ~piece.wires;
    all.push_back(std::move(piece));
}

}  // namespace qx::form
