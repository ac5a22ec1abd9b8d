// Matrices of one wire that others select, and of two under controls.
//
// What others select is taken apart into pieces that turn the same wires again and again; on each wire that is read all of
// them are about one axis. So from each piece on, those are collected that turn none but one of its wires, or any two,
// whatever others they read. What they are for each value of these is one matrix of that wire; of two wires it is one under
// controls, if it is nothing but turns for all values but one.

#include "planner/form/clusters/blocks/selected.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "planner/form/clusters/blocks/selection.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr double rounding = 1e-11;
constexpr int most_wires = 6;
constexpr std::size_t ahead = 96;         // pieces that are looked at from one on
constexpr std::size_t least = 3;          // pieces of what turns two wires
constexpr int least_wires = 4;            // of it; what is under one control is looked for closer (`put_controlled`)
constexpr std::size_t ahead_of_second = 16, most_sets = 2;  // pieces among which sets of wires are looked for, and these
constexpr double fewer = 1.5;               // entries of a row

bool is_diagonal(const Matrix2& of) { return std::norm(of[1]) + std::norm(of[2]) < rounding * rounding; }

// The wires of a piece, of some, that it turns.
Mask turned(const Piece& piece, Mask of) {
    Mask out = 0;
    each(piece.wires & of, [&](int wire) { out |= is_diagonal(piece.turn_of(wire)) ? 0 : unit(wire); });
    return out;
}

// Pieces one behind the other, some of which turn few wires, and others only read these.
class Window {
  public:
    // turned: a wire, if it alone may be; else any two, of some wires on which all pieces are.
    Window(Mask turned, Mask within) : mixed_(turned), within_(within), most_mixed_(turned ? 1 : 2) {}

    // Takes a piece, or puts it off, or lets it act before; returns whether others may be taken.
    bool add(const Piece& piece, std::size_t number) {
        const bool may = piece.joins() && !(piece.wires & (later_ | ~within_)) && (most_mixed_ > 1 || piece.wires & mixed_);
        const Mask turns = may ? turned(piece, open_) : 0;
        if (may && count(mixed_ | turns) <= most_mixed_ && !(turns & passed_) &&
            count(open_ | mixed_ | piece.wires) <= most_wires) {
            num_turns_ += count(turns), mixed_ |= turns, open_ |= piece.wires;
            inside.push_back(number);
        } else if (piece.wires & (open_ | later_)) {
            const Mask read = open_ & ~mixed_ & piece.wires;
            const Mask passes = piece.joins() ? read & ~turned(piece, read) : 0;
            behind.push_back(number);
            later_ |= piece.wires & ~passes, passed_ |= passes;
        }
        return count(mixed_) < most_mixed_ ? open_ & ~later_ : mixed_ & ~later_;
    }
    Mask mixed() const { return mixed_; }
    Mask wires() const { return open_; }
    int turns() const { return num_turns_; }

    std::vector<std::size_t> inside{}, behind{};  // numbers of pieces

  private:
    Mask mixed_, within_;
    Mask open_ = 0, later_ = 0, passed_ = 0;  // wires of what is taken, of what is put off, that others read between
    int most_mixed_, num_turns_ = 0;
};

// The first pieces of a window as one matrix.
struct Choice {
    double gain = 0;
    std::vector<std::size_t> inside{}, behind{};
    std::optional<Selection> made{};
};

class Selected {
  public:
    explicit Selected(Pieces given) : all_(std::move(given.all)) {}

    std::size_t run() {
        std::size_t found = 0;
        for (std::size_t k = 0; k < all_.size(); ++k) {
            if (!all_[k].joins()) continue;
            each(all_[k].wires, [&](int wire) {
                if (all_[k].joins() && (all_[k].wires >> wire & 1)) found += put(look(k, wire));
            });
            if (!all_[k].joins()) continue;
            const Choice own = look_at_two(k);
            bool is_best = own.made.has_value();
            for (std::size_t j = 1; is_best && j < least; ++j) is_best = look_at_two(own.inside[j]).gain <= own.gain;
            if (is_best) found += put(own);
        }
        return found;
    }
    std::vector<Piece> result() { return std::move(all_); }

  private:
    Window collected(std::size_t from, Mask turned, Mask within = ~Mask{0}) const {
        Window out(turned, within);
        for (std::size_t k = from; k < std::min(all_.size(), from + ahead); ++k)
            if (!out.add(all_[k], k)) break;
        return out;
    }
    // What turns one wire often enough.
    Choice look(std::size_t from, int wire) const {
        Window window = collected(from, unit(wire));
        if (count(window.wires()) < 3 || window.turns() < thresholds.selected_turns) return {};
        Choice out{1, std::move(window.inside), std::move(window.behind), Selection(window.mixed())};
        for (const std::size_t k : out.inside) out.made->act(all_[k]);
        return out;
    }
    // What turns two wires: on any wires, or on those of two pieces that share two.
    Choice look_at_two(std::size_t from) const {
        Choice best;
        if (count(all_[from].wires) > 2) look_at_two(from, ~Mask{0}, best);
        Mask last = 0;
        for (std::size_t k = from + 1, left = most_sets; left && k < std::min(all_.size(), from + ahead_of_second); ++k) {
            const Mask wires = all_[from].wires | all_[k].wires;
            if (!all_[k].joins() || count(all_[from].wires & all_[k].wires) < 2 || count(wires) < least_wires ||
                wires == last)
                continue;
            look_at_two(from, last = wires, best), --left;
        }
        return best;
    }
    // Looks at the first pieces of a window, as many as are worth most.
    void look_at_two(std::size_t from, Mask within, Choice& best) const {
        const Window window = collected(from, 0, within);
        const bool is_small = count(window.mixed()) < 2 || count(window.wires()) < least_wires;
        if (is_small || 2 * window.turns() < thresholds.selected_turns) return;
        Selection made(window.mixed());
        Mask wires = 0;
        for (std::size_t n = 0; n < window.inside.size(); ++n) {
            const Piece& piece = all_[window.inside[n]];
            made.act(piece), wires |= piece.wires;
            if (n + 1 < least || window.mixed() & ~wires || count(wires) < least_wires) continue;
            const double least_gain = std::max(fewer, best.gain + rounding);
            if (!made.may_take(least_gain)) continue;
            Selection own = made;
            const double gain = own.take_turns();
            if (gain < least_gain) continue;
            best.gain = gain, best.made = std::move(own), best.behind.clear();
            best.inside.assign(window.inside.begin(), window.inside.begin() + static_cast<std::ptrdiff_t>(n + 1));
            const auto is_inner = [&](std::size_t number) { return number < best.inside.back(); };
            std::copy_if(window.behind.begin(), window.behind.end(), std::back_inserter(best.behind), is_inner);
        }
    }
    // Puts what pieces are between those that come before and behind them.
    std::size_t put(const Choice& of) {
        if (!of.made) return 0;
        const std::size_t begin = of.inside.front(), end = of.inside.back() + 1;
        std::size_t parts = 0;
        for (const std::size_t k : of.inside) parts += all_[k].parts;
        std::vector<Piece> own, behind;
        for (std::size_t k = begin; k < end; ++k)
            if (!std::binary_search(of.inside.begin(), of.inside.end(), k))
                (std::binary_search(of.behind.begin(), of.behind.end(), k) ? behind : own).push_back(std::move(all_[k]));
        own.push_back(of.made->piece(parts));
        for (std::vector<Piece> more : {of.made->turns_behind(), std::move(behind)})
            std::move(more.begin(), more.end(), std::back_inserter(own));
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
