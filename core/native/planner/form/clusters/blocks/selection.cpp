// Matrices of one wire that others select, and of two under controls.

#include "planner/form/clusters/blocks/selection.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "planner/form/clusters/blocks/conserved.hpp"

namespace qx::form {

namespace {

constexpr double rounding = 1e-11;
// Entries of a row, in the mean, that take as long as a turn, many of which are under controls, and as one beside a sign,
// with which it is X.
constexpr double of_turn = 0.5, of_flip = 0.2;

bool is_sign(const Piece& piece) { return piece.kind == Piece::where && std::cos(piece.angle) < rounding - 1; }

Matrix4 adjoint4(const Matrix4& of, std::size_t size) {
    Matrix4 out{};
    for (std::size_t k = 0; k < size * size; ++k) out[k] = std::conj(of[size * (k % size) + k / size]);
    return out;
}

Complex phase_of(const Piece& piece, Mask values) {
    if (piece.kind == Piece::parity)
        return std::polar(1.0, is_odd(values & piece.wires) ? piece.angle / 2 : -piece.angle / 2);
    return (values & piece.wires) == piece.values ? std::polar(1.0, piece.angle) : 1;
}

}  // namespace

Selection::Selection(Mask mixed) : mixed_(mixed), of_(1), cost_(of_turn) {
    for (std::size_t k = 0; k < size(); ++k) of_[0][(size() + 1) * k] = 1;
}

Matrix4 Selection::product(const Matrix4& a, const Matrix4& b) const {
    Matrix4 out{};
    for (std::size_t row = 0; row < size(); ++row)
        for (std::size_t column = 0; column < size(); ++column)
            for (std::size_t k = 0; k < size(); ++k)
                out[size() * row + column] += times(a[size() * row + k], b[size() * k + column]);
    return out;
}

// The product of a turn of each wire that is mixed, the lower one first.
Matrix4 Selection::of_turns(const std::array<Matrix2, 2>& turns) const {
    Matrix4 out{};
    for (std::size_t row = 0; row < size(); ++row)
        for (std::size_t column = 0; column < size(); ++column)
            out[size() * row + column] = times(turns[0][(row & 1) << 1 | (column & 1)], turns[1][(row & 2) | column >> 1]);
    return out;
}

void Selection::act(const Piece& piece) {
    std::array<Matrix2, 2> turns{identity2, identity2};
    each(piece.wires, [&](int wire) {
        const Matrix2& turn = piece.turn_of(wire);
        Matrix2& before = before_[static_cast<std::size_t>(wire)];
        const bool is_mixed = mixed_ >> wire & 1, is_new = !((touched_ | read_) >> wire & 1);
        if (is_new) before = turn;
        else if (!is_mixed) before = turn * before;
        else turns[lowest(mixed_) == wire ? 0 : 1] = turn, add_cost(turn, is_sign(piece) || signs_ >> wire & 1);
        if (!is_new || is_mixed) return;
        wires_.push_back(wire), read_ |= unit(wire);
        of_.insert(of_.end(), of_.begin(), of_.end());
    });
    touched_ |= piece.wires & mixed_, signs_ = (signs_ & ~piece.wires) | (is_sign(piece) ? piece.wires : 0);
    const bool any = !is_identity(turns[0]) || !is_identity(turns[1]);
    const Matrix4 by = of_turns(turns);
    for (std::size_t value = 0; value < of_.size(); ++value) {
        if (any) of_[value] = product(by, of_[value]);
        for (std::size_t row = 0; row < size(); ++row) {
            const Complex phase = phase_of(piece, values_of(value, row));
            for (std::size_t k = 0; k < size(); ++k)
                of_[value][size() * row + k] = times(of_[value][size() * row + k], phase);
        }
    }
}

void Selection::add_cost(const Matrix2& turn, bool beside_sign) {
    const double mixes = std::norm(turn[1]);
    const bool is_flip = beside_sign && std::fabs(mixes - 0.5) < rounding;
    if (mixes > rounding * rounding) cost_ += is_flip ? of_flip : of_turn;
}

// The wires that are 1.
Mask Selection::values_of(std::size_t value, std::size_t row) const {
    Mask out = (row & 1 ? unit(lowest(mixed_)) : 0) | (row & 2 ? unit(highest(mixed_)) : 0);
    for (std::size_t k = 0; k < wires_.size(); ++k)
        if (value >> k & 1) out |= unit(wires_[k]);
    return out;
}

// How many entries of a matrix are in rows that are not those of the identity; 0 if it takes each value of the wires to one.
std::size_t Selection::filled(const Matrix4& of) const {
    std::size_t out = 0, most = 0;
    for (std::size_t row = 0; row < size(); ++row) {
        std::size_t own = 0;
        for (std::size_t column = 0; column < size(); ++column) own += size_of(of[size() * row + column]) > rounding;
        most = std::max(most, own);
        if (own > 1 || size_of(of[(size() + 1) * row] - 1.0) > rounding) out += own;
    }
    return most > 1 ? out : 0;
}

// Returns which value alone the matrix is another one for than for most; nothing if there are more such.
std::optional<std::size_t> Selection::only_value(const Matrix4& most) const {
    std::optional<std::size_t> out;
    for (std::size_t value = 0; value < of_.size(); ++value) {
        double apart = 0;
        for (std::size_t k = 0; k < most.size(); ++k) apart = std::max(apart, std::norm(of_[value][k] - most[k]));
        if (apart <= rounding * rounding) continue;
        if (out) return {};
        out = value;
    }
    return out;
}

bool Selection::may_take(double least) const { return cost_ > least && (only_value(of_.front()) || only_value(of_.back())); }

double Selection::take_turns() {
    for (const Matrix4& most : {of_.front(), of_.back()}) {
        const auto value = only_value(most);
        const auto turns = value ? turns_of(most) : std::nullopt;
        if (!turns) continue;
        Matrix4& left = of_[value_ = *value];
        left = product(left, adjoint4(most, size()));
        std::vector<Complex> matrix(left.begin(), left.end());
        const Turns around = form::take_turns(matrix, 2);
        for (std::size_t k = 0; k < 2; ++k) around_[k] = around.before[k];
        const Matrix4 by = of_turns(around_);
        left = product(product(by, left), adjoint4(by, size()));
        std::size_t which = 0;
        each(mixed_, [&](int wire) {
            Matrix2& before = before_[static_cast<std::size_t>(wire)];
            before = around_[which] * (*turns)[which] * before, ++which;
        });
        const std::size_t entries = filled(left);
        return entries ? cost_ - static_cast<double>(entries) / static_cast<double>(size() * of_.size()) : 0;
    }
    return 0;
}

std::vector<Piece> Selection::turns_behind() const {
    std::vector<Piece> out;
    std::size_t which = 0;
    each(mixed_, [&](int wire) {
        const Matrix2 turn = adjoint(around_[which++]);
        if (!is_nothing(turn)) out.push_back({Piece::turn, unit(wire), 0, 0, {turn}});
    });
    return out;
}

Piece Selection::piece(std::size_t parts) const {
    Piece out{Piece::block, wires()};
    out.parts = parts;
    each(out.wires, [&](int wire) { out.before.push_back(before_[static_cast<std::size_t>(wire)]); });
    if (size() == 2) {
        out.entries = entries();
        return out;
    }
    out.kind = Piece::controlled, out.control = read_, out.values = values_of(value_, 0);
    out.entries.assign(of_[value_].begin(), of_[value_].end());
    return out;
}

// The entries of a matrix of all wires.
std::vector<Complex> Selection::entries() const {
    const std::size_t all = std::size_t{1} << count(wires());
    std::vector<Complex> out(all * all);
    const auto index_of = [&](std::size_t value, std::size_t row) {
        const Mask set = values_of(value, row);
        std::size_t index = 0, bit = 1;
        each(wires(), [&](int wire) { index |= set >> wire & 1 ? bit : 0, bit *= 2; });
        return index;
    };
    for (std::size_t value = 0; value < of_.size(); ++value)
        for (std::size_t row = 0; row < size(); ++row)
            for (std::size_t column = 0; column < size(); ++column)
                out[all * index_of(value, row) + index_of(value, column)] = of_[value][size() * row + column];
    return out;
}

}  // namespace qx::form
