// Ladders that compute conditions and undo that, as what they are in the end.

#include "planner/form/clusters/bits/evaluated.hpp"

#include <algorithm>
#include <utility>

#include "planner/form/clusters/bits/axis_pieces.hpp"
#include "planner/form/clusters/bits/evaluation.hpp"
#include "planner/form/clusters/bits/piece_lines.hpp"
#include "planner/form/clusters/order/piece_order.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

namespace {

// Steps for each part of what was read that is found. As long as nothing is found, `most_more` times as many as are enough
// are added where many pieces act for each thing that is left: one gate under many conditions may come.
constexpr std::size_t for_found = 1'000, most_more = 3;
constexpr double much = 4, least = 2;  // so many pieces have to make one: at first, and of what is left then
constexpr std::size_t runs = 2;        // so often, as what was found may be part of others
// Of all work: what is counted as in vain from one piece on, and what has been in all where less is tried.
constexpr std::size_t part_for_one = 256, part_in_vain = 3;
constexpr double least_again = 4;      // so many where frames were let go of, or others are not found
// Steps through what all is for each one of pieces that act; more where less is left than before, and where few things are
// left, beside a part of what all may take.
constexpr std::size_t for_step = 2, for_step_back = 4, few = 3, part_for_few = 4;

class Evaluated {
  public:
    Evaluated(const Pieces& given, bool zeros, std::size_t within, std::size_t& work)
        : given_(joined(given)), zeros_(zeros), within_(within), work_(work), returns_(those_that_return(given_)),
          in_vain_(given_.all.size()), lines_(given_) {}

    // Evaluates from each piece on that comes again; returns how much of what was read has become others. Of pieces that are
    // but phases beside each other few are tried in vain, or where much was in vain, one.
    std::size_t run(double worth) {
        worth_ = worth, waits_.assign(given_.all.size(), false);
        std::size_t out = 0, failed = 0, vain = 0;
        const std::size_t begun = work_ - more_, number = given_.all.size();
        std::vector<const Axis*> beside(given_.num_wires());  // the axes of each wire since the first one that failed
        for (std::size_t k = 0; k < number && !is_tired(begun, out); ++k) {
            if (is_gone(k)) continue;
            if (failed && !stays(k, beside)) failed = 0;
            const std::size_t most = vain < within_ / part_in_vain ? 2 : 1;
            if (!returns_[k] || in_vain_[k] || waits_[k] || failed >= most) continue;
            const std::size_t before = work_, now = take(k, k), work = work_ - before;
            out += now;
            if (now) failed = 0;
            else vain += work;
            if (now || work <= within_ / part_for_one) continue;
            if (!failed++) std::fill(beside.begin(), beside.end(), nullptr), stays(k, beside);
        }
        return out;
    }
    Pieces result() {
        std::erase_if(given_.all, [](const auto& one) { return !one.wires(); });
        return given_.pieces(false);
    }

  private:
    using Frames = Evaluation::Frames;

    // An end of what is looked at from a piece on: so many pieces, and what they do in all. before: those between them that
    // come first.
    struct End {
        double worth = 0;
        std::size_t pieces = 0;
        std::vector<std::size_t> inside{}, before{};
        InAll all{};
    };

    // How many entries what all is has been looked at with from a piece on, and what was left when a piece acted last.
    struct Looked {
        std::size_t entries = 0, fewest = 0, left = 0;
    };

    static AxisPieces joined(const Pieces& given) {
        AxisPieces out(given);
        out.join_pairs();
        return out;
    }
    // Whether so much work has been done since some that the rest stays as it is.
    bool is_tired(std::size_t begun, std::size_t found) const {
        return thresholds.evaluated_entries.met(work_ >= begun + more_ + within_ + again_ + for_found * found);
    }
    bool is_gone(std::size_t number) const { return !given_.all[number].wires(); }

    // Whether a piece has the axes that others had on its wires before; its own are added to these.
    bool stays(std::size_t number, std::vector<const Axis*>& beside) const {
        if (given_.all[number].other) return false;
        const AxisPiece& piece = given_.all[number].own;
        bool out = true;
        each(piece.wires, [&](int wire) {
            const Axis*& axis = beside[static_cast<std::size_t>(wire)];
            out = out && (!axis || along(*axis, piece.axis_of(wire)));
            axis = &piece.axis_of(wire);
        });
        return out;
    }

    // Goes on from a piece to the best end. What does not fit comes behind, and what is on other wires and does not come
    // again comes first. refused: whether some piece is not diagonal.
    End scan(std::size_t from, Frames frames, bool& refused) const {
        diagrams_.reset();
        Evaluation now(diagrams_, static_cast<int>(given_.num_wires()), zeros_ ? lines_.untouched(from) : 0, frames);
        End best;
        std::vector<std::size_t> inside, before;
        std::vector<std::vector<Axis>> left(given_.num_wires());  // axes of pieces that come behind
        Mask closed = 0, some_left = 0;
        std::size_t failed = 0, seen = 0;
        Looked looked;
        const auto steps = [&] { return now.work() - looked.entries; };
        const auto enough = [&] {
            return static_cast<std::size_t>(thresholds.first_entries +
                                            thresholds.piece_entries * static_cast<Int>(inside.size()));
        };
        for (std::size_t k = from; k < given_.all.size() && seen < thresholds.pieces_ahead; ++k) {
            const std::size_t more = more_ < within_ ? std::min(within_ - more_, most_more * enough()) : 0;
            const bool is_promising = !best.pieces && now.have_many_acted();
            const bool is_enough = steps() > enough() + (is_promising ? more : 0);
            if (thresholds.first_entries.met(thresholds.piece_entries.met(is_enough))) break;
            if (is_gone(k)) continue;
            ++seen;
            const AxisPiece& piece = given_.all[k].own;
            if (!returns_[k] && !(given_.all[k].wires() & (now.wires() | some_left | closed))) {
                now.touch(given_.all[k].wires()), before.push_back(k);
                continue;
            }
            bool may = !given_.all[k].other && !(piece.wires & closed);
            each(piece.wires & some_left, [&](int wire) {
                const auto passes = [&](const Axis& one) { return along(one, piece.axis_of(wire)) != 0; };
                const auto& own = left[static_cast<std::size_t>(wire)];
                may = may && std::all_of(own.begin(), own.end(), passes);
            });
            const bool may_open = may && frames == Frames::guessed;
            if (may && !now.act(piece, may_open ? lines_.changes_first(given_, k, ~now.with_frames()) : -1))
                may = false, refused = true;
            if (!may) {
                if (inside.empty()) break;
                if (given_.all[k].other) closed |= given_.all[k].wires();
                else
                    each(piece.wires,
                         [&](int wire) { left[static_cast<std::size_t>(wire)].push_back(piece.axis_of(wire)); });
                some_left |= given_.all[k].wires();
                if (!(now.wires() & ~(some_left | closed)) && ++failed > thresholds.pieces_behind) break;
                continue;
            }
            inside.push_back(k);
            if (!may_look(now, inside.size(), best, looked)) continue;
            const std::size_t begun = now.work();
            look(now, inside.size(), best);
            looked.entries += now.work() - begun;
        }
        if (steps() > enough()) more_ += steps() - enough();
        work_ += now.work();
        inside.resize(best.pieces);
        if (best.pieces) std::erase_if(before, [&](std::size_t k) { return k > inside.back(); });
        best.inside = std::move(inside), best.before = std::move(before);
        return best;
    }

    // Whether what all is may be few enough pieces behind one more, and is worth looking at. As long as nothing goes, it is
    // as many as it was last, or, of short ones, half of that.
    bool may_look(const Evaluation& now, std::size_t pieces, const End& best, Looked& at) const {
        const bool is_long = thresholds.short_pieces.met(pieces > static_cast<std::size_t>(thresholds.short_pieces));
        const double number = static_cast<double>(pieces), part = is_long ? 1 : 0.5;
        const std::size_t fewer = std::exchange(at.fewest, now.fewest()), less = std::exchange(at.left, now.left());
        if (pieces < 2 || number < std::max(least, best.worth / 2) * static_cast<double>(now.fewest_steps())) return false;
        const bool goes = at.fewest < fewer || at.left < less;
        if (!goes && number < part * std::max(least, best.worth) * static_cast<double>(now.needed())) return false;
        const std::size_t steps = now.work() - at.entries, back = for_step_back * steps;
        const std::size_t of_steps = at.fewest < fewer ? back : for_step * steps;
        if (at.entries <= of_steps || at.entries - of_steps <= thresholds.look_entries) return true;
        return at.fewest <= few && at.entries < within_ / part_for_few + back;
    }
    static void look(const Evaluation& of, std::size_t pieces, End& best) {
        const auto all = static_cast<double>(pieces);
        auto found = of.in_all(static_cast<std::size_t>(all / std::max(least, best.worth)));
        if (!found) return;
        const auto joins = [](const AxisPiece& one) { return count(one.wires) > 1; };
        const auto number = static_cast<double>(std::count_if(found->pieces.begin(), found->pieces.end(), joins));
        const double worth = number > 0 ? all / number : 2 * all;
        if (all > least * number && worth > best.worth) best = {worth, pieces, {}, {}, std::move(*found)};
    }

    // Puts what pieces from one on do in all in place of them, if they are fewer then; returns how much was read as them.
    // last: becomes the last piece before those that come behind.
    std::size_t take(std::size_t from, std::size_t& last) {
        bool refused = false;
        End best = scan(from, Frames::guessed, refused);
        if (!best.pieces && refused && again_ < within_ / 2) {
            const std::size_t begun = work_;
            best = scan(from, Frames::let_go, refused);
            again_ += work_ - begun;
            if (best.worth < least_again) best.pieces = 0;
        }
        in_vain_[from] = !best.pieces;
        if (best.worth < worth_)  // what begins inside is hardly worth more
            for (const std::size_t k : best.inside) waits_[k] = true;
        if (!best.pieces || best.worth < worth_) return 0;
        std::size_t parts = 0;
        for (const std::size_t k : best.inside) parts += given_.all[k].own.parts;
        last = put(best, from, parts);
        return parts;
    }

    // Puts pieces that come first, what those inside do in all, and all others behind that, from a piece on; returns the
    // last one but these others.
    std::size_t put(End& found, std::size_t from, std::size_t parts) {
        std::vector<Matrix2> turns(given_.num_wires(), identity2);  // behind what is put
        const std::size_t end = found.inside.back() + 1;
        std::vector<AxisPieces::Item> items;
        std::vector<bool> return_again, in_vain_again;
        const auto keep = [&](std::size_t k) {
            items.push_back(std::exchange(given_.all[k], {}));
            return_again.push_back(returns_[k]), in_vain_again.push_back(in_vain_[k]);
        };
        for (const std::size_t k : found.before) keep(k);
        for (const std::size_t k : found.inside) given_.all[k] = {};
        given_.phase += found.all.phase;
        const std::size_t first = items.size();
        for (AxisPiece& piece : found.all.pieces) {
            if (count(piece.wires) < 2) {
                if (!piece.wires) given_.phase += piece.angle;
                each(piece.wires, [&](int wire) {
                    Matrix2& own = turns[static_cast<std::size_t>(wire)];
                    own = phase_about(piece.axes[0], piece.angle) * own;
                });
                continue;
            }
            std::size_t place = 0;
            each(piece.wires, [&](int wire) {
                Axis& axis = piece.axes[place++];
                axis = pulled(axis, turns[static_cast<std::size_t>(wire)]);
            });
            items.push_back({std::move(piece)}), return_again.push_back(true), in_vain_again.push_back(false);
        }
        const std::size_t number = items.size() - first, behind = from + items.size();
        for (std::size_t k = 0; k < number; ++k) items[first + k].own.parts = parts / number + (k ? 0 : parts % number);
        if (!number) given_.nothing += parts;
        for (std::size_t k = from; k < end; ++k)
            if (!is_gone(k)) keep(k);
        std::move(items.begin(), items.end(), given_.all.begin() + static_cast<std::ptrdiff_t>(from));
        std::copy(return_again.begin(), return_again.end(), returns_.begin() + static_cast<std::ptrdiff_t>(from));
        std::copy(in_vain_again.begin(), in_vain_again.end(), in_vain_.begin() + static_cast<std::ptrdiff_t>(from));
        lines_.number_anew(given_, from, end);
        for (std::size_t wire = 0; wire < turns.size(); ++wire)
            if (!is_identity(turns[wire])) given_.turn(static_cast<int>(wire), turns[wire], behind);
        return behind - 1;
    }

    AxisPieces given_;
    mutable Diagrams diagrams_;  // of what is looked at from a piece on
    bool zeros_;
    std::size_t within_;
    std::size_t& work_;
    double worth_ = 0;
    std::size_t again_ = 0;  // work where frames were let go of
    mutable std::size_t more_ = 0;  // work that was more than what is enough from a piece on
    std::vector<bool> returns_, in_vain_;  // pieces that come again, and those from which nothing was found
    std::vector<bool> waits_;  // and those that are part of what is worth too little as yet
    PieceLines lines_;
};

}  // namespace

Pieces evaluated(Pieces given, bool zeros, std::size_t within, std::size_t& work, std::size_t& found) {
    constexpr int any = 64;  // wires on which pieces may lie together
    Pieces ordered = given;
    ordered.all = near_each_other(std::move(ordered.all), static_cast<int>(given.carried().size()), any);
    Evaluated all(ordered, zeros, within, work);
    std::size_t now = 0;
    for (const double worth : {much, least})
        for (std::size_t k = 0, more = 1; k < runs && more; ++k) now += more = all.run(worth);
    if (!now) return given;
    found += now;
    return all.result();
}

}  // namespace qx::form
