// Ladders that compute conditions and undo that, as what they are in the end.

#include "planner/form/clusters/bits/evaluated.hpp"

#include <algorithm>
#include <map>

#include "planner/form/clusters/bits/axis_pieces.hpp"
#include "planner/form/clusters/bits/evaluation.hpp"
#include "planner/form/clusters/piece_order.hpp"

namespace qx::form {

namespace {

constexpr std::size_t ahead = 400;         // pieces that are looked at from one on
constexpr std::size_t ahead_of_best = 96;  // pieces behind twice as many as the best end has
constexpr std::size_t looks = 8;           // pieces on a wire that say which axis its bit has
constexpr int most_frames = 4;             // axes of bits that are others than these said
constexpr std::size_t most_left = 24;      // pieces that are left out while all wires have some
constexpr std::size_t for_found = 1'000;   // more terms that are looked at for each part of what was read
constexpr std::size_t patience = 24;       // pieces from which nothing is found, before no others are looked at
constexpr double least = 3;                // how many pieces have to make one
constexpr std::size_t before_left = 100;   // pieces, before all are left where half of them stay
constexpr int most_wires = 64;             // on which pieces are brought near each other
constexpr std::size_t least_of_all = 4;    // the same, of all pieces: others are left to clusters on few wires

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
        std::size_t out = 0, failed = 0;
        const std::size_t begun = work_;
        for (std::size_t k = 0; k < given_.all.size(); ++k) {
            if (gone_[k]) continue;
            if (returns_[k] && failed < patience && work_ < begun + within_ + for_found * out) {
                const std::size_t parts = take(k);
                out += parts, failed = parts ? 0 : failed + 1;
            }
            if (!gone_[k]) keep(k);
            if (looked_at_ > before_left && 2 * done_.size() > looked_at_) return 0;
        }
        given_.all = std::move(done_);
        return out;
    }
    Pieces result() const { return given_.pieces(false); }

  private:
    // An end of what is looked at from a piece on.
    struct End {
        double worth = 0;
        std::vector<std::size_t> inside{};
    };
    using Frames = std::vector<std::pair<int, Axis>>;  // wires with the axes of their bits

    void keep(std::size_t number) {
        touched_ |= given_.all[number].wires(), ++looked_at_;
        done_.push_back(std::move(given_.all[number]));
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

    // Returns the axis of a wire's bit: that of its first piece that is not around others which turn it into what matters.
    Axis axis_for(int wire, std::size_t from, const Axis& first) const {
        const auto& line = on_wire_[static_cast<std::size_t>(wire)];
        std::vector<const AxisPiece*> next;
        for (auto at = std::lower_bound(line.begin(), line.end(), from); at != line.end() && next.size() < looks; ++at) {
            if (gone_[*at]) continue;
            if (given_.all[*at].other) break;
            next.push_back(&given_.all[*at].own);
        }
        std::vector<bool> around(next.size());
        for (std::size_t k = 0; k + 2 < next.size(); ++k) {
            const Axis &own = next[k]->axis_of(wire), &inner = next[k + 1]->axis_of(wire);
            const double angle = std::fabs(dot(own, inner));
            if (around[k] || next[k]->wires != next[k + 2]->wires || next[k]->wires == next[k + 1]->wires) continue;
            if (angle > 0.1 && !along(own, inner) && along(own, next[k + 2]->axis_of(wire)))
                around[k] = around[k + 2] = true;
        }
        for (std::size_t k = 0; k < next.size(); ++k)
            if (!around[k]) return next[k]->axis_of(wire);
        return first;
    }
    std::optional<bool> known_value(int wire, const Axis& z) const {
        const int sign = zeros_ && !(touched_ >> wire & 1) ? along(z, {0, 0, 1}) : 0;
        return sign ? std::optional(sign < 0) : std::nullopt;
    }
    void add_wires(Evaluation& to, std::size_t from, const AxisPiece& piece, const Frames& frames) const {
        each(piece.wires & ~to.wires(), [&](int wire) {
            const auto at = std::find_if(frames.begin(), frames.end(), [&](const auto& one) { return one.first == wire; });
            const Axis z = at != frames.end() ? at->second : axis_for(wire, from, piece.axis_of(wire));
            to.add_wire(wire, z, known_value(wire, z));
        });
    }

    // Goes on from a piece to the best end. frames: those of some wires, to which that of one more is added where a piece
    // does not fit and it would.
    End scan(std::size_t from, Frames& frames) const {
        Evaluation now(static_cast<int>(given_.num_wires()));
        End best;
        std::vector<std::size_t> inside;
        std::vector<std::vector<Axis>> left(given_.num_wires());  // axes of pieces that come behind
        Mask closed = 0, some_left = 0;
        std::size_t failed = 0;
        const std::size_t end = std::min(given_.all.size(), from + ahead);
        const std::size_t known = frames.size();
        for (std::size_t k = from; k < end && inside.size() < 2 * best.inside.size() + ahead_of_best; ++k) {
            if (gone_[k]) continue;
            const AxisPiece& piece = given_.all[k].own;
            bool may = !given_.all[k].other && !(piece.wires & closed);
            each(piece.wires & some_left, [&](int wire) {
                const auto passes = [&](const Axis& one) { return along(one, piece.axis_of(wire)) != 0; };
                const auto& own = left[static_cast<std::size_t>(wire)];
                may = may && std::all_of(own.begin(), own.end(), passes);
            });
            if (may) {
                add_wires(now, from, piece, frames);
                may = now.act(piece);
                if (!may && !some_left && !closed && frames.size() == known) add_frame(now, piece, frames);
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
            const double worth = worth_of(now, inside.size(), best.worth);
            if (worth > best.worth) best = {worth, inside};
        }
        work_ += now.work();
        return best;
    }
    // How many pieces make one, 0 if they are too few or no more than some.
    static double worth_of(const Evaluation& of, std::size_t pieces, double more_than) {
        const auto all = static_cast<double>(pieces);
        const auto steps = of.steps(static_cast<std::size_t>(all / std::max(least, more_than)));
        if (!steps) return 0;
        const auto number = static_cast<double>(joining(*steps));
        return number > 0 ? all / number : 2 * all;
    }
    // Lets a bit be along the axis of a piece that did not fit.
    static void add_frame(const Evaluation& of, const AxisPiece& piece, Frames& frames) {
        bool done = false;
        each(of.without_bits(), [&](int wire) {
            const auto same = [&](const auto& one) { return one.first == wire; };
            if (done || std::any_of(frames.begin(), frames.end(), same)) return;
            if (along(of.frame_of(wire), piece.axis_of(wire))) return;
            frames.emplace_back(wire, piece.axis_of(wire)), done = true;
        });
    }

    // Puts what pieces from one on do in all in place of them, if they are fewer then; returns how much was read as them.
    std::size_t take(std::size_t from) {
        Frames frames, best_frames;
        End best;
        for (int k = 0; k <= most_frames; ++k) {
            const std::size_t known = frames.size();
            const Frames now = frames;
            End found = scan(from, frames);
            if (found.worth > best.worth) best = std::move(found), best_frames = now;
            if (frames.size() == known) break;
        }
        if (best.inside.empty()) return 0;
        Evaluation all(static_cast<int>(given_.num_wires()));
        std::size_t parts = 0;
        for (const std::size_t k : best.inside) {
            add_wires(all, from, given_.all[k].own, best_frames);
            all.act(given_.all[k].own);
            parts += given_.all[k].own.parts;
        }
        looked_at_ += best.inside.size();
        for (const std::size_t k : best.inside) gone_[k] = true;
        put(all, from, parts);
        return parts;
    }
    void put(const Evaluation& of, std::size_t from, std::size_t parts) {
        const auto steps = of.steps();
        std::vector<Matrix2> turns(given_.num_wires(), identity2);  // behind what is put
        const std::size_t first = done_.size();
        given_.phase += of.phase();
        for (const BitStep& step : *steps) {
            AxisPiece piece{step.wires(), {}, step.angle};
            const auto axis = [&](int wire) {
                const bool value = step.values >> wire & 1;
                return wire == step.target ? step.axis : value ? of.frame_of(wire) : -of.frame_of(wire);
            };
            if (count(piece.wires) < 2) {
                if (!piece.wires) given_.phase += step.angle;
                each(piece.wires, [&](int wire) {
                    Matrix2& own = turns[static_cast<std::size_t>(wire)];
                    own = phase_about(axis(wire), step.angle) * own;
                });
                continue;
            }
            each(piece.wires,
                 [&](int wire) { piece.axes.push_back(pulled(axis(wire), turns[static_cast<std::size_t>(wire)])); });
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
    std::vector<bool> gone_, returns_;
    std::vector<std::vector<std::size_t>> on_wire_;
    std::vector<AxisPieces::Item> done_;
    Mask touched_ = 0;            // wires of what is done
    std::size_t looked_at_ = 0;  // pieces that are done
};

// How many phases there are.
std::size_t number_of(const Pieces& of) {
    const auto joins = [](const Piece& one) { return one.joins(); };
    return static_cast<std::size_t>(std::count_if(of.all.begin(), of.all.end(), joins));
}

}  // namespace

Pieces evaluated(Pieces given, bool zeros, std::size_t within, std::size_t& work, std::size_t& found) {
    Pieces ordered = given;
    ordered.all = near_each_other(std::move(ordered.all), static_cast<int>(given.carried().size()), most_wires);
    Evaluated all(ordered, zeros, within, work);
    const std::size_t now = all.run();
    if (!now) return given;
    Pieces out = all.result();
    if (number_of(out) * least_of_all > number_of(given)) return given;
    found += now;
    return out;
}

}  // namespace qx::form
