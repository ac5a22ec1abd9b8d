// Matrices of one wire that others select.
//
// What others select is taken apart into pieces that turn one wire again and again; on each wire that is read all of them
// are about one axis. So from each piece on, those are collected that turn none but one of its wires, whatever others they
// read, and what they are for each value of these is a matrix of one wire.

#include "planner/form/clusters/blocks/selected.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr double rounding = 1e-11;
constexpr int most_read = 5;
constexpr std::size_t ahead = 96;  // pieces that are looked at from one on

bool is_diagonal(const Matrix2& of) { return std::norm(of[1]) + std::norm(of[2]) < rounding * rounding; }

// Pieces one behind the other that turn no wire but one, and what they are to it for each value of those that they read.
class Window {
  public:
    explicit Window(int target) : target_(target) {}

    // Which of the wires that are read a piece reads, too, so that it passes the others.
    Mask read_of(const Piece& piece) const {
        Mask out = 0;
        if (piece.joins())
            each(piece.wires & read_, [&](int wire) {
                if (is_diagonal(piece.turn_of(wire))) out |= unit(wire);
            });
        return out;
    }
    bool takes(const Piece& piece) const {
        return piece.joins() && (piece.wires >> target_ & 1) && read_of(piece) == (piece.wires & read_) &&
               count((read_ | piece.wires) & ~unit(target_)) <= most_read;
    }
    void take(const Piece& piece) {
        turns_ += read_ && !is_diagonal(piece.turn_of(target_));
        read_ |= piece.wires & ~unit(target_);
    }
    // Lets one act that has been taken.
    void act(const Piece& piece) {
        each(piece.wires & ~unit(target_), [&](int wire) {
            Matrix2& before = before_[static_cast<std::size_t>(wire)];
            const bool is_new = std::find(wires_.begin(), wires_.end(), wire) == wires_.end();
            before = is_new ? piece.turn_of(wire) : piece.turn_of(wire) * before;
            if (!is_new) return;
            wires_.push_back(wire);
            of_.insert(of_.end(), of_.begin(), of_.end());
        });
        const Matrix2& turn = piece.turn_of(target_);
        for (std::size_t value = 0; value < of_.size(); ++value) of_[value] = phases(piece, value) * turn * of_[value];
    }

    Int turns() const { return turns_; }
    Mask wires() const { return read_ | unit(target_); }
    // The piece that all are.
    Piece piece(std::size_t parts) const {
        Piece out{Piece::block, wires()};
        out.parts = parts;
        each(wires(),
             [&](int wire) { out.before.push_back(wire == target_ ? identity2 : before_[static_cast<std::size_t>(wire)]); });
        const std::size_t size = std::size_t{1} << count(wires());
        out.entries.resize(size * size);
        for (std::size_t value = 0; value < of_.size(); ++value)
            for (std::size_t k = 0; k < 4; ++k)
                out.entries[size * index_of(value, k >> 1) + index_of(value, k & 1)] = of_[value][k];
        return out;
    }

  private:
    // The wires that are 1.
    Mask ones(std::size_t value, bool own) const {
        Mask out = own ? unit(target_) : 0;
        for (std::size_t k = 0; k < wires_.size(); ++k)
            if (value >> k & 1) out |= unit(wires_[k]);
        return out;
    }
    std::size_t index_of(std::size_t value, bool own) const {
        const Mask set = ones(value, own);
        std::size_t out = 0, bit = 1;
        each(wires(), [&](int wire) { out |= set >> wire & 1 ? bit : 0, bit *= 2; });
        return out;
    }
    Matrix2 phases(const Piece& piece, std::size_t value) const {
        Matrix2 out = identity2;
        for (const bool own : {false, true}) {
            const Mask set = ones(value, own) & piece.wires;
            const double where = set == piece.values ? piece.angle : 0, parity = (is_odd(set) - 0.5) * piece.angle;
            out[own ? 3 : 0] = std::polar(1.0, piece.kind == Piece::where ? where : parity);
        }
        return out;
    }

    int target_;
    Mask read_ = 0;
    std::vector<int> wires_;                  // that are read, as the bits of a value
    std::array<Matrix2, 64> before_;          // of those: what acts on each before
    std::vector<Matrix2> of_{identity2};      // for each value
    Int turns_ = 0;  // of the target between pieces
};

class Selected {
  public:
    explicit Selected(Pieces given) : all_(std::move(given.all)) {}

    std::size_t run() {
        std::size_t found = 0;
        for (std::size_t k = 0; k < all_.size(); ++k)
            if (all_[k].joins())
                each(all_[k].wires, [&](int wire) {
                    if (all_[k].joins() && (all_[k].wires >> wire & 1)) found += look(k, wire);
                });
        return found;
    }
    std::vector<Piece> result() { return std::move(all_); }

  private:
    // Collects pieces from one on; if they are enough, puts what they are between those that come before and behind them.
    std::size_t look(std::size_t from, int target) {
        Window window(target);
        Mask open = 0, later = 0;  // wires with pieces of the window, and those of pieces behind some of these
        std::vector<std::size_t> inside, behind;
        for (std::size_t k = from; k < std::min(all_.size(), from + ahead) && !(later >> target & 1); ++k) {
            const Piece& piece = all_[k];
            if (!(piece.wires & later) && window.takes(piece)) window.take(piece), inside.push_back(k), open |= piece.wires;
            else if (piece.wires & (open | later)) behind.push_back(k), later |= piece.wires & ~window.read_of(piece);
        }
        if (count(window.wires()) < 3 || window.turns() < thresholds.selected_turns) return 0;
        std::size_t parts = 0;
        for (const std::size_t k : inside) window.act(all_[k]), parts += all_[k].parts;
        std::array<std::vector<Piece>, 2> around;  // before and behind
        const std::size_t end = inside.back() + 1;
        for (std::size_t k = from; k < end; ++k)
            if (!std::binary_search(inside.begin(), inside.end(), k))
                around[std::binary_search(behind.begin(), behind.end(), k)].push_back(std::move(all_[k]));
        std::size_t at = end - around[0].size() - 1 - around[1].size();
        for (std::size_t k = from; k < at; ++k) all_[k] = {Piece::turn, 0};
        for (Piece& piece : around[0]) all_[at++] = std::move(piece);
        all_[at++] = window.piece(parts);
        for (Piece& piece : around[1]) all_[at++] = std::move(piece);
        return parts;
    }

    std::vector<Piece> all_;
};

}  // namespace

Pieces with_selected(Pieces given, std::size_t& parts) {
    const int wires = static_cast<int>(given.carried().size());
    Pieces settled(wires, false), out(wires, false);  // settled: X passes what only reads a wire
    for (const Piece& piece : given.all) settled.put(piece, true);
    out.phase = given.phase + settled.phase, out.nothing = given.nothing;
    const std::vector<Matrix2> first = settled.carried();
    Selected selected(std::move(settled));
    const std::size_t found = selected.run();
    if (!found) return given;
    parts += found;
    for (Piece& piece : selected.result())
        if (piece.wires) out.put(std::move(piece), false);
    for (int wire = 0; wire < wires; ++wire)
        out.carried(wire) = given.carried(wire) * first[static_cast<std::size_t>(wire)] * out.carried(wire);
    return out;
}

}  // namespace qx::form
