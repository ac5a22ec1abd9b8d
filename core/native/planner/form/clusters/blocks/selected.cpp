// Matrices of one wire that others select.
//
// What others select is taken apart into pieces that turn the same wire again and again; on each wire that is read all of
// them are about one axis. So from each piece on, those are collected that turn none but one of its wires, whatever others
// they read. What they are for each value of these is one matrix of that wire.

#include "planner/form/clusters/blocks/selected.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr double rounding = 1e-11;
constexpr int least_wires = 3, most_wires = 6;
constexpr std::size_t ahead = 96;  // pieces that are looked at from one on

bool is_diagonal(const Matrix2& of) { return std::norm(of[1]) + std::norm(of[2]) < rounding * rounding; }

// Pieces one behind the other, some of which turn one wire, and others only read it.
class Window {
  public:
    explicit Window(Mask wire) : wire_(wire) {}

    // Takes a piece, or puts it off, or lets it act before; returns whether others may be taken.
    bool add(const Piece& piece, std::size_t number) {
        const bool may = piece.joins() && !(piece.wires & later_) && piece.wires & wire_;
        const Mask turns = may ? turned(piece, open_) : 0;
        if (may && !(turns & ~wire_) && !(turns & passed_) && count(open_ | piece.wires) <= most_wires) {
            num_turns_ += count(turns), open_ |= piece.wires;
            inside.push_back(number);
        } else if (piece.wires & (open_ | later_)) {
            const Mask read = open_ & ~wire_ & piece.wires;
            const Mask passes = piece.joins() ? read & ~turned(piece, read) : 0;
            behind.push_back(number);
            later_ |= piece.wires & ~passes, passed_ |= passes;
        }
        return wire_ & ~later_;
    }
    bool is_enough() const { return count(open_) >= least_wires && num_turns_ >= thresholds.selected_turns; }

    std::vector<std::size_t> inside{}, behind{};  // numbers of pieces

  private:
    // The wires of a piece, of some, that it turns.
    static Mask turned(const Piece& piece, Mask of) {
        Mask out = 0;
        each(piece.wires & of, [&](int wire) { out |= is_diagonal(piece.turn_of(wire)) ? 0 : unit(wire); });
        return out;
    }

    Mask wire_;
    Mask open_ = 0, later_ = 0, passed_ = 0;  // wires of what is taken, of what is put off, that others read between
    int num_turns_ = 0;
};

// What pieces that turn one wire are to it for each value of those that they read, each about the axis of the first one that
// did.
class Selection {
  public:
    explicit Selection(int wire) : mixed_(wire) {}

    void act(const Piece& piece) {
        Matrix2 by = identity2;
        each(piece.wires, [&](int wire) {
            const Matrix2& turn = piece.turn_of(wire);
            Matrix2& before = before_[static_cast<std::size_t>(wire)];
            const bool is_new = !(known_ >> wire & 1);
            if (is_new) before = turn;
            else if (wire != mixed_) before = turn * before;
            else by = turn;
            if (!is_new || wire == mixed_) return;
            wires_.push_back(wire);
            of_.insert(of_.end(), of_.begin(), of_.end());
        });
        known_ |= piece.wires;
        for (std::size_t value = 0; value < of_.size(); ++value) {
            of_[value] = by * of_[value];
            for (std::size_t row = 0; row < 2; ++row) {
                const Complex phase = phase_of(piece, values_of(value, row));
                for (std::size_t k = 0; k < 2; ++k) of_[value][2 * row + k] = times(of_[value][2 * row + k], phase);
            }
        }
    }
    Piece piece(std::size_t parts) const {
        Piece out{Piece::block, known_};
        out.parts = parts, out.entries = entries();
        each(known_, [&](int wire) { out.before.push_back(before_[static_cast<std::size_t>(wire)]); });
        return out;
    }

  private:
    static Complex phase_of(const Piece& piece, Mask values) {
        if (piece.kind == Piece::parity)
            return std::polar(1.0, is_odd(values & piece.wires) ? piece.angle / 2 : -piece.angle / 2);
        return (values & piece.wires) == piece.values ? std::polar(1.0, piece.angle) : 1;
    }
    // The wires that are 1.
    Mask values_of(std::size_t value, std::size_t row) const {
        Mask out = row ? unit(mixed_) : 0;
        for (std::size_t k = 0; k < wires_.size(); ++k)
            if (value >> k & 1) out |= unit(wires_[k]);
        return out;
    }
    // The entries of a matrix of all wires.
    std::vector<Complex> entries() const {
        const std::size_t all = std::size_t{1} << count(known_);
        std::vector<Complex> out(all * all);
        const auto index_of = [&](std::size_t value, std::size_t row) {
            const Mask set = values_of(value, row);
            std::size_t index = 0, bit = 1;
            each(known_, [&](int wire) { index |= set >> wire & 1 ? bit : 0, bit *= 2; });
            return index;
        };
        for (std::size_t value = 0; value < of_.size(); ++value)
            for (std::size_t k = 0; k < 4; ++k) out[all * index_of(value, k >> 1) + index_of(value, k & 1)] = of_[value][k];
        return out;
    }

    int mixed_;
    Mask known_ = 0;
    std::vector<int> wires_;                 // that are read, as the bits of a value
    std::array<Matrix2, 64> before_;         // what acts on each wire before
    std::vector<Matrix2> of_{identity2};     // for each value
};

class Selected {
  public:
    explicit Selected(Pieces given) : all_(std::move(given.all)) {}

    std::size_t run() {
        std::size_t found = 0;
        for (std::size_t k = 0; k < all_.size(); ++k)
            each(all_[k].joins() ? all_[k].wires : 0, [&](int wire) {
                if (all_[k].joins() && (all_[k].wires >> wire & 1)) found += look(k, wire);
            });
        return found;
    }
    std::vector<Piece> result() { return std::move(all_); }

  private:
    // Puts what turns one wire often enough, from a piece on, as one; returns how much of what was read that is.
    std::size_t look(std::size_t from, int wire) {
        Window window(unit(wire));
        for (std::size_t k = from; k < std::min(all_.size(), from + ahead); ++k)
            if (!window.add(all_[k], k)) break;
        if (!window.is_enough()) return 0;
        Selection made(wire);
        for (const std::size_t k : window.inside) made.act(all_[k]);
        return put(window, made);
    }
    // Puts what pieces are between those that come before and behind them.
    std::size_t put(const Window& of, const Selection& made) {
        const std::size_t begin = of.inside.front(), end = of.inside.back() + 1;
        std::size_t parts = 0;
        for (const std::size_t k : of.inside) parts += all_[k].parts;
        std::vector<Piece> own, behind;
        for (std::size_t k = begin; k < end; ++k)
            if (!std::binary_search(of.inside.begin(), of.inside.end(), k))
                (std::binary_search(of.behind.begin(), of.behind.end(), k) ? behind : own).push_back(std::move(all_[k]));
        own.push_back(made.piece(parts));
        std::move(behind.begin(), behind.end(), std::back_inserter(own));
        std::fill(all_.begin() + static_cast<std::ptrdiff_t>(begin), all_.begin() + static_cast<std::ptrdiff_t>(end),
                  Piece{Piece::turn, 0});
        std::move(own.begin(), own.end(), all_.begin() + static_cast<std::ptrdiff_t>(end - own.size()));
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
