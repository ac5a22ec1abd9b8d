// Ladders that compute conditions and undo that, as what they are in the end.

#include "planner/form/clusters/bits/evaluated.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "planner/form/clusters/bits/axis_pieces.hpp"
#include "planner/form/clusters/bits/evaluation.hpp"
#include "planner/form/clusters/piece_order.hpp"

namespace qx::form {

namespace {

constexpr std::size_t ahead = 400;         // pieces that are looked at from one on
constexpr std::size_t ahead_of_best = 96;  // pieces behind twice as many as the best end has
constexpr std::size_t looks = 8;           // pieces on a wire among which it may get another axis
constexpr std::size_t most_left = 24;      // pieces that are left out while all wires have some
// Terms that are looked at from a piece on, more for each piece that fits, and more for each part of what was read that is
// found.
constexpr std::size_t at_first = 10'000, for_piece = 600, for_found = 1'000;
constexpr double least = 2;  // more pieces than so many have to make one
constexpr double least_again = 4;  // so many where frames were let go of, or others are not found

class Evaluated {
  public:
    Evaluated(const Pieces& given, bool zeros, std::size_t within, std::size_t& work)
        : given_(given), zeros_(zeros), within_(within), work_(work), gone_(given_.all.size()),
          on_wire_(given_.num_wires()) {
        for (std::size_t k = 0; k < given_.all.size(); ++k)
            each(given_.all[k].wires(), [&](int wire) { on_wire_[static_cast<std::size_t>(wire)].push_back(k); });
        find_those_that_return();
    }

    // Evaluates from each piece on that comes again; returns how much of what was read has become others.
    std::size_t run() {
        std::size_t out = 0;
        const std::size_t begun = work_;
        for (std::size_t k = 0; k < given_.all.size(); ++k) {
            if (!gone_[k] && returns_[k] && work_ < begun + within_ + again_ + for_found * out) out += take(k);
            if (!gone_[k]) keep(k);
        }
        given_.all = std::move(done_);
        return out;
    }
    Pieces result() const { return given_.pieces(false); }

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

    void keep(std::size_t number) {
        touched_ |= given_.all[number].wires(), gone_[number] = true;
        done_.push_back(std::exchange(given_.all[number], {}));
    }

    // Finds pieces after which the same one comes again, up to the directions of axes.
    void find_those_that_return() {
        returns_.resize(given_.all.size());
        std::map<std::uint64_t, std::size_t> next;
        for (std::size_t k = given_.all.size(); k-- > 0;) {
            if (given_.all[k].other) continue;
            std::uint64_t key = given_.all[k].wires();
            for (const Axis& axis : given_.all[k].own.axes) {
                const auto first = std::find_if(axis.begin(), axis.end(), [](double x) { return std::fabs(x) > 1e-4; });
                for (const double x : axis) {
                    const double own = first != axis.end() && *first < 0 ? -x : x;
                    key = key * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(std::llround(own * 1e5)), key ^= key >> 29;
                }
            }
            const auto [at, is_new] = next.try_emplace(key, k);
            returns_[k] = !is_new && at->second - k < ahead;
            at->second = k;
        }
    }

    // Returns which of the wires of a piece that have no frame gets another axis first.
    int changes_first(const Evaluation& now, std::size_t number) const {
        const AxisPiece& piece = given_.all[number].own;
        int out = -1;
        std::size_t least_behind = looks;
        each(piece.wires & ~now.with_frames(), [&](int wire) {
            const auto& line = on_wire_[static_cast<std::size_t>(wire)];
            std::size_t behind = 0;
            for (auto at = std::upper_bound(line.begin(), line.end(), number); at != line.end() && behind < least_behind;
                 ++at) {
                if (gone_[*at]) continue;
                if (given_.all[*at].other) break;
                if (!along(given_.all[*at].own.axis_of(wire), piece.axis_of(wire))) {
                    least_behind = behind, out = wire;
                    break;
                }
                ++behind;
            }
        });
        return out;
    }

    // Goes on from a piece to the best end. What does not fit comes behind, and what is on other wires and does not come
    // again comes first. refused: whether some piece is not diagonal.
    End scan(std::size_t from, Frames frames, bool& refused) const {
        Evaluation now(static_cast<int>(given_.num_wires()), zeros_ ? ~touched_ : 0, frames);
        End best;
        std::vector<std::size_t> inside, before;
        std::vector<std::vector<Axis>> left(given_.num_wires());  // axes of pieces that come behind
        Mask closed = 0, some_left = 0;
        std::size_t failed = 0;
        const std::size_t end = std::min(given_.all.size(), from + ahead);
        for (std::size_t k = from; k < end && inside.size() < 2 * best.pieces + ahead_of_best; ++k) {
            if (now.work() > at_first + for_piece * inside.size()) break;
            if (gone_[k]) continue;
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
            if (may && !now.act(piece, frames == Frames::guessed ? changes_first(now, k) : -1)) {
                may = false, refused = true;
            }
            if (!may) {
                if (inside.empty()) break;
                if (given_.all[k].other) closed |= given_.all[k].wires();
                else
                    each(piece.wires,
                         [&](int wire) { left[static_cast<std::size_t>(wire)].push_back(piece.axis_of(wire)); });
                some_left |= piece.wires;
                if (!(now.wires() & ~(some_left | closed)) && ++failed > most_left) break;
                continue;
            }
            inside.push_back(k);
            if (inside.size() < 2) continue;
            const auto number = static_cast<double>(inside.size());
            if (number < std::max(least, best.worth / 2) * static_cast<double>(now.fewest())) continue;
            look(now, inside.size(), best);
        }
        work_ += now.work();
        inside.resize(best.pieces);
        if (best.pieces) std::erase_if(before, [&](std::size_t k) { return k > inside.back(); });
        best.inside = std::move(inside), best.before = std::move(before);
        return best;
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
    std::size_t take(std::size_t from) {
        bool refused = false;
        End best = scan(from, Frames::guessed, refused);
        if (!best.pieces && refused && again_ < within_ / 2) {
            const std::size_t begun = work_;
            best = scan(from, Frames::let_go, refused);
            again_ += work_ - begun;
            if (best.worth < least_again) return 0;
        }
        if (!best.pieces) return 0;
        std::size_t parts = 0;
        for (const std::size_t k : best.inside) parts += given_.all[k].own.parts, gone_[k] = true;
        for (const std::size_t k : best.before) keep(k);
        put(best.all, from, parts);
        return parts;
    }
    void put(InAll& all, std::size_t from, std::size_t parts) {
        std::vector<Matrix2> turns(given_.num_wires(), identity2);  // behind what is put
        const std::size_t first = done_.size();
        given_.phase += all.phase;
        for (AxisPiece& piece : all.pieces) {
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
            touched_ |= piece.wires;
            done_.push_back({std::move(piece)});
        }
        const std::size_t number = done_.size() - first;
        for (std::size_t k = first; k < done_.size(); ++k)
            done_[k].own.parts = parts / number + (k == first ? parts % number : 0);
        if (!number) given_.nothing += parts;
        for (std::size_t wire = 0; wire < turns.size(); ++wire)
            if (!is_identity(turns[wire])) given_.turn(static_cast<int>(wire), turns[wire], from);
    }

    AxisPieces given_;
    bool zeros_;
    std::size_t within_;
    std::size_t& work_;
    std::size_t again_ = 0;  // work where frames were let go of
    std::vector<bool> gone_, returns_;
    std::vector<std::vector<std::size_t>> on_wire_;
    std::vector<AxisPieces::Item> done_;
    Mask touched_ = 0;  // wires of what is done
};

}  // namespace

Pieces evaluated(Pieces given, bool zeros, std::size_t within, std::size_t& work, std::size_t& found) {
    constexpr int any = 64;  // wires on which pieces may lie together
    Pieces ordered = given;
    ordered.all = near_each_other(std::move(ordered.all), static_cast<int>(given.carried().size()), any);
    Evaluated all(ordered, zeros, within, work);
    const std::size_t now = all.run();
    if (!now) return given;
    found += now;
    return all.result();
}

}  // namespace qx::form
