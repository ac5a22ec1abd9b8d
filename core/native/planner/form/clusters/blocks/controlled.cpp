// Matrices of two wires under the control of a third one.
//
// A matrix on three wires that reads one of them is a matrix of the others for each of its values. Where one of the two is
// turns of single wires, what the other one is behind these is under the control.

#include "planner/form/clusters/blocks/controlled.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "planner/form/clusters/blocks/conserved.hpp"

namespace qx::form {

namespace {

constexpr double rounding = 1e-11;
constexpr int wires = 3;
constexpr std::size_t size = 8, least = 3, most = 32;  // least, most: pieces
constexpr double entries_of_piece = 4;  // that take as long as a piece and the turns before it
constexpr double fewer = 1;  // pieces

using Matrix = std::vector<Complex>;  // [8, 8]

// A matrix of two wires where a control has a value, behind turns of these wires.
struct Controlled {
    int control = -1;  // a bit
    bool value = false;
    std::array<Matrix2, 2> turns{};  // of the lower and the higher one of the others
    Matrix4 matrix{};
    std::size_t filled = 0;  // entries of rows that are not those of the identity
};

std::size_t row_of(std::size_t index, int control, bool value) {
    const std::size_t low = index & ((std::size_t{1} << control) - 1);
    return low | (index ^ low) << 1 | std::size_t{value} << control;
}

// Returns what a matrix is of the other bits where one has a value; nothing if it mixes that one.
std::optional<std::array<Matrix4, 2>> split(const Matrix& of, int control) {
    std::array<Matrix4, 2> out{};
    for (std::size_t row = 0; row < 4; ++row)
        for (std::size_t column = 0; column < 4; ++column)
            for (const bool value : {false, true}) {
                out[value][4 * row + column] = of[size * row_of(row, control, value) + row_of(column, control, value)];
                if (std::abs(of[size * row_of(row, control, value) + row_of(column, control, !value)]) > rounding) return {};
            }
    return out;
}

Matrix4 product_with_adjoint(const Matrix4& a, const Matrix4& b) {
    Matrix4 out{};
    for (std::size_t row = 0; row < 4; ++row)
        for (std::size_t column = 0; column < 4; ++column)
            for (std::size_t k = 0; k < 4; ++k) out[4 * row + column] += times(a[4 * row + k], std::conj(b[4 * column + k]));
    return out;
}

std::size_t filled(const Matrix4& of) {
    std::size_t out = 0;
    for (std::size_t row = 0; row < 4; ++row) {
        std::size_t own = 0;
        for (std::size_t column = 0; column < 4; ++column) own += std::abs(of[4 * row + column]) > rounding;
        if (own > 1 || std::abs(of[5 * row] - of[0]) > rounding) out += own;
    }
    return out;
}

bool is_diagonal(const Matrix4& of) {
    bool out = true;
    for (std::size_t k = 0; k < 16; ++k) out = out && (k % 5 == 0 || std::abs(of[k]) <= rounding);
    return out;
}

// Returns the one of least entries that a matrix on three wires is; of no control if it is none.
Controlled controlled(const Matrix& of) {
    Controlled best;
    for (int control = 0; control < wires; ++control) {
        const auto parts = split(of, control);
        for (const bool value : {true, false}) {
            const auto turns = parts ? turns_of((*parts)[!value]) : std::nullopt;
            if (!turns) continue;
            Controlled own{control, value, *turns, product_with_adjoint((*parts)[value], (*parts)[!value])};
            if (turns_of(own.matrix) || is_diagonal(own.matrix)) continue;  // pieces of two wires, or phases
            own.filled = filled(own.matrix);
            if (best.control < 0 || own.filled < best.filled) best = own;
        }
    }
    return best;
}

// Makes what mixes 00 and 11 alone mix 01 and 10, and symmetric, by a turn of the higher one of the two wires before it that
// is undone behind it.
void make_symmetric(Controlled& of, Matrix2& behind) {
    const auto around = [&](const Matrix2& turn) {
        const Matrix4 given = std::exchange(of.matrix, Matrix4{});
        for (std::size_t row = 0; row < 4; ++row)
            for (std::size_t column = 0; column < 4; ++column)
                for (std::size_t k = 0; k < 2; ++k)
                    for (std::size_t j = 0; j < 2; ++j)
                        of.matrix[4 * row + column] +=
                            times(times(turn[(row & 2) | k], given[4 * ((row & 1) | k << 1) + ((column & 1) | j << 1)]),
                                  std::conj(turn[(column & 2) | j]));
        of.turns[1] = turn * of.turns[1], behind = behind * adjoint(turn);
    };
    if (std::abs(of.matrix[3]) > rounding) around(operator_matrix(true, false));
    const Complex one = of.matrix[6], other = of.matrix[9];
    if (std::abs(one) < rounding || std::abs(other) < rounding) return;
    const Complex by = std::sqrt(other / one * std::abs(one) / std::abs(other));
    around({1, 0, 0, std::conj(by)});
    const Complex rest = of.matrix[0] - of.matrix[5];
    if (std::abs(rest + of.matrix[6]) < std::abs(rest - of.matrix[6])) around({1, 0, 0, -1});
}

// What the beginning of a cluster is, and how many pieces fewer that takes as long as: phases, or a matrix under a control.
struct Found {
    std::size_t pieces = 0;
    double gain = 0;
    Cluster beginning{};
    Beginning phases{};
    Controlled controlled{};
    Turns around{};

    // Looks at what begins with one of the pieces; returns whether that is better.
    bool look_from(const Cluster& of, std::size_t first, std::size_t& work) {
        std::vector<int> on;
        Segment made;
        each(of.wires, [&](int wire) { on.push_back(wire), made.add_wire(); });
        Cluster own;
        bool better = false;
        for (std::size_t k = first; k < std::min(first + most, of.pieces.size()); ++k) {
            const Piece& piece = of.pieces[k];
            act(piece, made, on), work += made.size();
            own.wires |= piece.wires, own.pieces.push_back(piece);
            if (own.pieces.size() >= least && own.wires == of.wires && look(own, made, work)) better = true;
        }
        return better;
    }

  private:
    void take(const Cluster& of, double now) { *this = {of.pieces.size(), now, of}; }
    bool look(const Cluster& of, const Segment& made, std::size_t& work) {
        const std::size_t number = of.pieces.size();
        int mixed = 0;
        for (int wire = 0; wire < wires; ++wire) mixed += made.rank(wire) > 2;
        work += made.size();
        if (mixed == 1 || mixed == wires) return false;
        if (!mixed) {
            Beginning all = find_whole(of, work);
            const double now = static_cast<double>(number) - static_cast<double>(all.phases.joint.size());
            if (!all.pieces || now <= gain) return false;
            take(of, now), phases = std::move(all);
            return true;
        }
        Matrix matrix = made.dense();
        Turns turns = take_turns(matrix, wires);
        work += 16 * size;
        each(take_flips(matrix, size), [&](int wire) {
            Matrix2& own = turns.behind[static_cast<std::size_t>(wire)];
            own = own * operator_matrix(true, false);
        });
        const Controlled own = form::controlled(matrix);
        const double now = static_cast<double>(number) - fewer - static_cast<double>(own.filled) / entries_of_piece;
        if (own.control < 0 || now <= gain) return false;
        take(of, now), controlled = own, around = std::move(turns);
        return true;
    }
};

// Puts a matrix under a control that a beginning is.
void put(Found found, Pieces& to) {
    Controlled& own = found.controlled;
    const Cluster& of = found.beginning;
    std::vector<int> on;
    each(of.wires, [&](int wire) { on.push_back(wire); });
    make_symmetric(own, found.around.behind[own.control == wires - 1 ? wires - 2 : wires - 1]);
    Piece piece{Piece::controlled, of.wires};
    piece.control = unit(on[static_cast<std::size_t>(own.control)]), piece.values = own.value ? piece.control : 0;
    piece.before.assign(wires, identity2);
    piece.entries.assign(own.matrix.begin(), own.matrix.end());
    piece.parts = 0;
    for (const Piece& one : of.pieces) piece.parts += one.parts;
    std::size_t other = 0;
    for (std::size_t k = 0; k < on.size(); ++k) {
        Matrix2& turn = to.carried(on[k]);
        turn = found.around.before[k] * turn;
        if (static_cast<int>(k) != own.control) turn = own.turns[other++] * turn;
    }
    to.put(std::move(piece), false);
    for (std::size_t k = 0; k < on.size(); ++k) to.carried(on[k]) = found.around.behind[k] * to.carried(on[k]);
}

// Whether pieces from one on are any matrix of two wires: three on the same ones, both of which are turned between them.
bool is_matrix(const std::vector<Piece>& of, std::size_t first) {
    bool out = true;
    for (std::size_t k = first + 1; k < first + least; ++k) {
        out = out && of[k].wires == of[first].wires;
        each(of[k].wires, [&](int wire) { out = out && !is_identity(of[k].turn_of(wire)); });
    }
    return out;
}

}  // namespace

std::optional<std::array<Matrix2, 2>> turns_of(const Matrix4& of) {
    const auto most = [](Complex a, Complex b) { return std::norm(a) < std::norm(b); };
    const auto pivot = static_cast<std::size_t>(std::max_element(of.begin(), of.end(), most) - of.begin());
    const std::size_t row = pivot >> 2, column = pivot & 3;
    std::array<Matrix2, 2> out;
    for (std::size_t k = 0; k < 4; ++k) {
        out[0][k] = of[4 * ((row & 2) | k >> 1) + ((column & 2) | (k & 1))];
        out[1][k] = of[4 * ((row & 1) | (k & 2)) + ((column & 1) | (k & 1) << 1)];
    }
    const double length = std::sqrt(std::norm(out[0][0]) + std::norm(out[0][1]));
    if (length < rounding) return {};  // then no turn is part of it
    const Complex by = length / of[pivot];
    for (Complex& one : out[0]) one /= length;
    for (Complex& one : out[1]) one = times(one, by);
    for (std::size_t k = 0; k < 16; ++k) {
        const Complex own = times(out[0][(k >> 2 & 1) << 1 | (k & 1)], out[1][(k >> 3 & 1) << 1 | (k >> 1 & 1)]);
        if (std::abs(own - of[k]) > rounding) return {};
    }
    return out;
}

std::size_t put_controlled(const Cluster& of, Pieces& to, std::size_t& work) {
    const std::size_t number = of.pieces.size();
    Found best;
    std::size_t begin = 0, end = number;
    for (std::size_t first = 0; count(of.wires) == wires && first + least <= number; ++first) {
        if (is_matrix(of.pieces, first)) first += least - 1;  // of which no part alone is under a control
        else if (best.look_from(of, first, work)) begin = first, end = first + best.pieces;
    }
    if (!best.pieces) {  // what is on two wires at the end may be under a control with others
        Mask last = 0;
        while (end > 1 && count(last | of.pieces[end - 1].wires) < wires) last |= of.pieces[--end].wires;
        begin = end;
    }
    for (std::size_t k = 0; k < begin; ++k) to.put(of.pieces[k], false);
    if (best.phases.pieces) put_phases(best.beginning, best.phases, to);
    else if (best.pieces) put(std::move(best), to);
    return end;
}

}  // namespace qx::form
