// Ladders that compute conditions and undo that, as what they are in the end.

#include "planner/form/clusters/bits/evaluated.hpp"

#include <algorithm>
#include <utility>

#include "planner/form/clusters/bits/scan.hpp"
#include "planner/form/clusters/order/piece_order.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr std::size_t for_found = 1'000;  // steps for each part of what was read that is found
constexpr double much = 4;             // so many pieces have to make one at first; of what is left then, `least_worth`
constexpr std::size_t runs = 2;        // so often, as what was found may be part of others
// Of all work: what is counted as in vain from one piece on, and what has been in all where less is tried.
constexpr std::size_t part_for_one = 256, part_in_vain = 3;

class Evaluated {
  public:
    Evaluated(const Pieces& given, bool zeros, std::size_t within, std::size_t& work, double& left)
        : given_(joined(given)), within_(within), work_(work), left_(left), returns_(those_that_return(given_)),
          in_vain_(given_.all.size()), lines_(given_), scanner_(given_, returns_, lines_, zeros, within) {}
    Evaluated(const Evaluated&) = delete;
    Evaluated& operator=(const Evaluated&) = delete;

    // Evaluates from each piece on that comes again; returns how much of what was read has become others. Of pieces that are
    // but phases beside each other few are tried in vain, or where much was in vain, one.
    std::size_t run(double worth) {
        worth_ = worth, waits_.assign(given_.all.size(), false);
        std::size_t out = 0, failed = 0, vain = 0;
        const std::size_t begun = work_ - taken_.more, number = given_.all.size();
        std::vector<const Axis*> beside(given_.num_wires());  // the axes of each wire since the first one that failed
        for (std::size_t k = 0; k < number && !is_tired(begun, out); ++k) {
            if (given_.is_gone(k)) continue;
            if (failed && !stays(k, beside)) failed = 0;
            const std::size_t most = vain < within_ / part_in_vain ? 2 : 1;
            if (!may_begin(k) || failed >= most) continue;
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
    static AxisPieces joined(const Pieces& given) {
        AxisPieces out(given);
        out.join_pairs();
        return out;
    }
    // Whether so much work has been done since some that the rest stays as it is.
    bool is_tired(std::size_t begun, std::size_t found) const {
        return thresholds.evaluated_entries.met(work_ >= begun + taken_.more + within_ + taken_.again + for_found * found);
    }

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

    // Whether what is looked for may begin with a piece.
    bool may_begin(std::size_t number) const {
        return !given_.is_gone(number) && returns_[number] && !in_vain_[number] && !waits_[number];
    }

    // Puts what pieces from one on do in all in place of them, if they are fewer then; returns how much was read as them.
    // last: becomes the last piece before those that come behind.
    std::size_t take(std::size_t from, std::size_t& last) {
        const std::size_t before = taken_.all;
        End best = scanner_.best(from, taken_);
        work_ += taken_.all - before;
        in_vain_[from] = !best.pieces;
        if (best.worth < worth_)  // what begins inside is hardly worth more
            for (const std::size_t k : best.inside) waits_[k] = true;
        if (!best.pieces || best.worth < worth_ || best.all.off > left_) return 0;
        left_ -= best.all.off;
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
            if (!given_.is_gone(k)) keep(k);
        std::move(items.begin(), items.end(), given_.all.begin() + static_cast<std::ptrdiff_t>(from));
        std::copy(return_again.begin(), return_again.end(), returns_.begin() + static_cast<std::ptrdiff_t>(from));
        std::copy(in_vain_again.begin(), in_vain_again.end(), in_vain_.begin() + static_cast<std::ptrdiff_t>(from));
        lines_.number_anew(given_, from, end);
        for (std::size_t wire = 0; wire < turns.size(); ++wire)
            if (!is_nothing(turns[wire])) given_.turn(static_cast<int>(wire), turns[wire], behind);
        return behind - 1;
    }

    AxisPieces given_;
    std::size_t within_;
    std::size_t& work_;
    double& left_;
    double worth_ = 0;
    std::vector<bool> returns_, in_vain_;  // pieces that come again, and those from which nothing was found
    std::vector<bool> waits_;  // and those that are part of what is worth too little as yet
    PieceLines lines_;
    Scanner scanner_;
    Steps taken_;
};

}  // namespace

Pieces evaluated(Pieces given, bool zeros, std::size_t within, double& left, std::size_t& work, std::size_t& found) {
    constexpr int any = 64;  // wires on which pieces may lie together
    Pieces ordered = given;
    ordered.all = near_each_other(std::move(ordered.all), static_cast<int>(given.carried().size()), any);
    Evaluated all(ordered, zeros, within, work, left);
    std::size_t now = 0;
    for (const double worth : {much, least_worth})
        for (std::size_t k = 0, more = 1; k < runs && more; ++k) now += more = all.run(worth);
    if (!now) return given;
    found += now;
    return all.result();
}

}  // namespace qx::form
