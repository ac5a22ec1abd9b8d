// Phases on three wires among pieces of other wires.

#include "planner/form/clusters/toffolis/windows.hpp"

#include <algorithm>
#include <array>

namespace qx::form {

namespace {

constexpr int most_wires = 3;
constexpr std::size_t ahead = 96;         // pieces that are looked at from one on
constexpr std::size_t least_pieces = 4;   // of a phase of three wires, at least
constexpr double least = 2;               // how many pieces have to make one phase
constexpr std::size_t for_found = 10'000;  // more entries that are looked at for each part of what was read

class Windows {
  public:
    Windows(Pieces given, std::size_t within, std::size_t& work)
        : all_(std::move(given.all)), behind_(given.carried()), within_(within), work_(work),
          out_(static_cast<int>(behind_.size()), false) {
        out_.phase = given.phase, out_.nothing = given.nothing;
    }

    // Looks from each piece on; returns how much of what was read has become others.
    std::size_t run() {
        std::size_t found = 0;
        const std::size_t begun = work_;
        for (std::size_t k = 0; k < all_.size() && work_ < begun + within_ + for_found * found; ++k) found += look(k);
        return found;
    }
    Pieces result() {
        for (Piece& piece : all_)
            if (piece.wires) out_.put(std::move(piece), false);
        for (std::size_t wire = 0; wire < behind_.size(); ++wire)
            out_.carried(static_cast<int>(wire)) = behind_[wire] * out_.carried(static_cast<int>(wire));
        return std::move(out_);
    }

  private:
    // Pieces on some wires from one on, and of those between which come behind them.
    struct Window {
        std::vector<std::size_t> inside{}, later{};
    };

    // Collects at most so many pieces.
    Window collect(std::size_t from, Mask wires, std::size_t most) const {
        Window out;
        Mask open = 0, later = 0;  // wires with pieces of the window, and those of pieces behind some of these
        for (std::size_t k = from; k < std::min(all_.size(), from + ahead) && out.inside.size() < most; ++k) {
            const Mask own = all_[k].wires;
            if (own && !(own & ~wires) && !(own & later) && all_[k].joins()) {
                out.inside.push_back(k), open |= own;
            } else if (own & (open | later)) {
                out.later.push_back(k), later |= own;
                if (!(wires & ~later)) break;
            }
        }
        return out;
    }
    // Looks at pieces from one on, with each third wire that comes next.
    std::size_t look(std::size_t from) {
        const Mask own = all_[from].wires;
        if (!all_[from].joins() || count(own) > most_wires) return 0;
        if (count(own) == most_wires) return take(from, own);
        Mask left = own;
        for (std::size_t k = from + 1; k < std::min(all_.size(), from + ahead) && left; ++k) {
            const Mask wires = all_[k].wires;
            if (!(wires & left) || !(wires & ~own)) continue;
            left &= ~wires;
            if (count(wires | own) > most_wires) continue;
            if (const std::size_t found = take(from, own | wires)) return found;
        }
        return 0;
    }
    // Makes phases of the pieces on some wires from one on, if they are fewer.
    std::size_t take(std::size_t from, Mask wires) {
        Window window = collect(from, wires, ahead);
        if (window.inside.size() < least_pieces) return 0;
        Cluster own{wires, {}};
        for (const std::size_t k : window.inside) own.pieces.push_back(all_[k]);
        std::size_t alone = 0;
        const Beginning found = find_phases(own, own.pieces.size(), least, alone, work_);
        if (!found.pieces) return 0;
        window = collect(from, wires, found.pieces);
        put(from, own, found, window);
        std::size_t parts = 0;
        for (std::size_t k = 0; k < found.pieces; ++k) parts += own.pieces[k].parts;
        return parts;
    }
    // Puts phases between the pieces that come before and behind a window. What is left of its places comes first, empty;
    // with turns behind phases there may be too few.
    void put(std::size_t from, const Cluster& own, const Beginning& found, const Window& window) {
        Pieces made(static_cast<int>(behind_.size()), false);
        put_phases(own, found, made);
        out_.add_phase(made.phase), out_.nothing += made.nothing;
        std::size_t end = window.inside.back() + 1;
        std::array<std::vector<Piece>, 2> around;  // before and behind
        for (std::size_t k = from; k < end; ++k)
            if (!std::binary_search(window.inside.begin(), window.inside.end(), k))
                around[std::binary_search(window.later.begin(), window.later.end(), k)].push_back(std::move(all_[k]));
        std::vector<Piece>& phases = made.all;
        each(own.wires, [&](int wire) { turn(made.carried(wire), wire, end, around[1], phases); });
        const std::size_t number = around[0].size() + phases.size() + around[1].size();
        for (; end - from < number; ++end) all_.insert(all_.begin() + static_cast<std::ptrdiff_t>(end), {Piece::turn, 0});
        std::size_t at = end - number;
        for (std::size_t k = from; k < at; ++k) all_[k] = {Piece::turn, 0};
        for (auto* each_of : {&around[0], &phases, &around[1]})
            for (Piece& piece : *each_of) all_[at++] = std::move(piece);
    }
    // Lets a turn act before the next piece on a wire, one of some or one behind these, or puts it behind phases.
    void turn(const Matrix2& by, int wire, std::size_t end, std::vector<Piece>& next, std::vector<Piece>& phases) {
        if (is_nothing(by)) return;
        const auto is_on = [&](const Piece& one) { return (one.wires >> wire & 1) != 0; };
        Piece* piece = nullptr;
        if (const auto at = std::find_if(next.begin(), next.end(), is_on); at != next.end()) piece = &*at;
        const auto rest = all_.begin() + static_cast<std::ptrdiff_t>(end);
        if (const auto at = std::find_if(rest, all_.end(), is_on); !piece && at != all_.end()) piece = &*at;
        if (piece && !piece->has_turns()) return phases.push_back({Piece::turn, unit(wire), 0, 0, {by}, {}, 0, 0});
        Matrix2& own = piece ? piece->before[static_cast<std::size_t>(count(piece->wires & below(wire)))]
                             : behind_[static_cast<std::size_t>(wire)];
        own = own * by;
    }

    std::vector<Piece> all_;
    std::vector<Matrix2> behind_;
    std::size_t within_;
    std::size_t& work_;
    Pieces out_;
};

}  // namespace

Pieces with_windows(Pieces given, std::size_t within, std::size_t& work, std::size_t& found) {
    Windows windows(std::move(given), within, work);
    found += windows.run();
    return windows.result();
}

}  // namespace qx::form
