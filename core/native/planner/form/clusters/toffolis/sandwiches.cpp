// Phases between what computes a condition and what undoes that, as phases of its inputs.

#include "planner/form/clusters/toffolis/sandwiches.hpp"

#include <iterator>
#include <utility>

#include "planner/form/clusters/toffolis/merged_phases.hpp"

namespace qx::form {

namespace {

// Pieces on each side that may be nothing alone; a relative-phase Toffoli is three.
constexpr int most_layers = 12, of_toffoli = 3;
constexpr std::size_t for_found = 10'000;  // more entries that are looked at for each part of what was read
constexpr std::size_t patience = 24;       // phases around which nothing is found, before no others are looked at
constexpr int most_rounds = 4;
constexpr double least = 1.5;  // how many pieces have to make one phase

// A phase and what stands around it. core: pieces that do the same. of: the numbers of those that were given, that of the
// phase first. on_wire: for each wire the places, on it, of the first piece and of the one behind the last. passed: wires on
// which its pieces before or behind the phase have passed others, as what comes next has to do, too.
struct Sandwich {
    Cluster core{};
    std::vector<Index> of{};
    std::vector<std::array<std::size_t, 2>> on_wire{};
    std::array<Mask, 2> passed{};
};

class Sandwiches {
  public:
    Sandwiches(const Pieces& given, std::size_t within, std::size_t& work)
        : given_(given), on_wire_(given.carried().size()), taken_(given.all.size(), no), nothing_(given.nothing),
          within_(within), work_(work) {
        for (Index k = 0; k < given.all.size(); ++k)
            each(given.all[k].wires, [&](int wire) { on_wire_[static_cast<std::size_t>(wire)].push_back(k); });
    }

    // Looks at what is around each phase; returns how much of what was read has become others.
    std::size_t run() {
        std::size_t out = 0, failed = 0;
        for (Index k = 0; k < given_.all.size() && failed < patience && work_ < within_ + for_found * out; ++k) {
            if (!is_center(k)) continue;
            Sandwich own = around(k);
            bool any = false;
            while (grow(own) || grow_with_next(own)) any = true;
            failed = any ? 0 : failed + 1;
            if (!any) continue;
            out += taken(std::move(own));
        }
        return out;
    }
    // What is before a sandwich on some wire comes before its phase, and what is behind it comes behind, so that it stands
    // where its phase was.
    Pieces result() const {
        Pieces out(static_cast<int>(on_wire_.size()), false);
        out.phase = given_.phase + phase_, out.nothing = nothing_;
        auto next = found_.begin();
        for (Index k = 0; k < given_.all.size(); ++k) {
            if (taken_[k] == no) {
                out.put(given_.all[k], false);
            } else if (taken_[k] == k) {
                for (const Piece& piece : next->second.pieces) out.put(piece, false);
                ++next;
            }
        }
        for (std::size_t wire = 0; wire < on_wire_.size(); ++wire)
            out.carried(static_cast<int>(wire)) = given_.carried()[wire] * out.carried(static_cast<int>(wire));
        return out;
    }

  private:
    static constexpr Index no = ~Index{0};

    // Keeps what a sandwich has become; returns how much of what was read it is.
    std::size_t taken(Sandwich&& own) {
        std::size_t out = 0;
        for (const Index one : own.of) taken_[one] = own.of[0], out += given_.all[one].parts;
        found_.emplace_back(own.of[0], std::move(own.core));
        return out;
    }
    bool is_center(Index piece) const {
        return given_.all[piece].kind == Piece::where && count(given_.all[piece].wires) > 2 && taken_[piece] == no;
    }
    std::size_t place(Index piece, int wire) const {
        const auto& own = on_wire_[static_cast<std::size_t>(wire)];
        return static_cast<std::size_t>(std::lower_bound(own.begin(), own.end(), piece) - own.begin());
    }
    Sandwich around(Index piece) const {
        Sandwich out{{given_.all[piece].wires, {given_.all[piece]}}, {piece}, {}, {}};
        out.on_wire.resize(on_wire_.size());
        each(out.core.wires, [&](int wire) {
            const std::size_t at = place(piece, wire);
            out.on_wire[static_cast<std::size_t>(wire)] = {at, at + 1};
        });
        return out;
    }
    // Adds the pieces before and behind a sandwich on one of its wires, if they are on the same wires, and nothing else is
    // between them on these.
    bool widen(Sandwich& own, int along) const {
        const auto& line = on_wire_[static_cast<std::size_t>(along)];
        const auto [begin, end] = own.on_wire[static_cast<std::size_t>(along)];
        if (!begin || end == line.size()) return false;
        const Index before = line[begin - 1], behind = line[end];
        const Piece &first = given_.all[before], &last = given_.all[behind];
        if (taken_[before] != no || taken_[behind] != no || !first.joins() || !last.joins()) return false;
        if (first.wires != last.wires || count(own.core.wires | first.wires) > Piece::most_wires) return false;
        bool may = true;
        each(first.wires, [&](int wire) {
            const auto [from, to] = own.on_wire[static_cast<std::size_t>(wire)];
            const std::size_t left = place(before, wire), right = place(behind, wire);
            const bool is_new = !(own.core.wires >> wire & 1);
            const auto has_passed = [&](std::size_t side) { return (own.passed[side] >> wire & 1) != 0; };
            may = may &&
                  (is_new ? are_alike(left, right, wire, false)
                          : are_alike(left, from, wire, has_passed(0)) && are_alike(to - 1, right, wire, has_passed(1)));
        });
        if (!may) return false;
        each(first.wires, [&](int wire) {
            auto& [from, to] = own.on_wire[static_cast<std::size_t>(wire)];
            const std::size_t left = place(before, wire), right = place(behind, wire) + 1;
            const bool is_new = !(own.core.wires >> wire & 1);  // else it may pass what was added along another wire
            if (is_new ? left + 2 != right : left + 1 != from) own.passed[0] |= unit(wire);
            if (is_new ? left + 2 != right : to != right - 1) own.passed[1] |= unit(wire);
            from = is_new ? left : std::min(from, left), to = is_new ? right : std::max(to, right);
        });
        own.core.wires |= first.wires;
        own.core.pieces.insert(own.core.pieces.begin(), first);
        own.core.pieces.push_back(last);
        own.of.push_back(before), own.of.push_back(behind);
        return true;
    }
    // Whether nothing, or nothing but phases without turns, stands between two pieces on a wire: the pieces of a sandwich
    // pass them. have_passed: whether there are others to pass anyway.
    bool are_alike(std::size_t one, std::size_t other, int wire, bool have_passed) const {
        const auto& line = on_wire_[static_cast<std::size_t>(wire)];
        const auto passes = [&](Index piece) {
            return given_.all[piece].joins() && is_nothing(given_.all[piece].turn_of(wire));
        };
        const auto [first, last] = std::minmax(one, other);
        return (one + 1 == other && !have_passed) ||
               std::all_of(line.begin() + static_cast<std::ptrdiff_t>(first),
                           line.begin() + static_cast<std::ptrdiff_t>(last) + 1, passes);
    }
    // Widens a sandwich along one of some wires, the highest one first, and lets these be those of what was added.
    bool widen_along(Sandwich& own, Mask& wires) const {
        bool done = false;
        each(wires, [&](int wire) { done = done || widen(own, wire); });
        if (done) wires = own.core.pieces.back().wires;
        return done;
    }
    // Adds phases that stand behind a sandwich with no turns between; returns whether there are any. What is before them on
    // other wires stands before its phase, where it will be.
    bool add_next(Sandwich& own) const {
        bool any = false;
        for (bool more = true; more;) {
            more = false;
            each(own.core.wires, [&](int along) {
                const auto& line = on_wire_[static_cast<std::size_t>(along)];
                const std::size_t end = own.on_wire[static_cast<std::size_t>(along)][1];
                if (end == line.size() || !may_add(own, line[end])) return;
                const Piece& next = given_.all[line[end]];
                each(next.wires, [&](int wire) {
                    const std::size_t at = place(line[end], wire);
                    auto& [from, to] = own.on_wire[static_cast<std::size_t>(wire)];
                    if (!(own.core.wires >> wire & 1)) from = at;
                    to = at + 1;
                });
                own.core.wires |= next.wires, own.core.pieces.push_back(next), own.of.push_back(line[end]);
                any = more = true;
            });
        }
        return any;
    }
    bool may_add(const Sandwich& own, Index number) const {
        const Piece& next = given_.all[number];
        if (!is_center(number) || count(own.core.wires | next.wires) > Piece::most_wires) return false;
        bool may = true;
        each(next.wires, [&](int wire) {
            const std::size_t at = place(number, wire);
            if (own.core.wires >> wire & 1)
                may = may && own.on_wire[static_cast<std::size_t>(wire)][1] == at && is_nothing(next.turn_of(wire));
            else may = may && (!at || on_wire_[static_cast<std::size_t>(wire)][at - 1] < own.of[0]);
        });
        return may;
    }
    bool grow_with_next(Sandwich& own) {
        Sandwich more = own;
        if (!add_next(more) || !grow(more)) return false;
        own = std::move(more);
        return true;
    }
    static bool is_fewer(const Cluster& core, const Beginning& all) {
        const auto joins = [](const Piece& one) { return one.joins(); };
        const auto number = std::count_if(core.pieces.begin(), core.pieces.end(), joins);
        return least * static_cast<double>(all.phases.joint.size()) <= static_cast<double>(number);
    }
    // Adds so many layers around a sandwich, the first one along a wire; returns how many there are.
    int widen(Sandwich& own, int along, int layers) const {
        Mask wires = unit(along);
        int out = 0;
        while (out < layers && widen_along(own, wires)) ++out;
        return out;
    }
    // Adds what computes an input of a sandwich, and undoes it; returns whether the phases are others of more inputs then.
    bool grow(Sandwich& own) {
        bool done = false;
        each(own.core.wires, [&](int wire) { done = done || grow(own, wire); });
        return done;
    }
    // What undoes all is looked for first, and then what a Toffoli is, in one piece or in three.
    bool grow(Sandwich& own, int along) {
        Sandwich more = own;
        int layers = widen(more, along, most_layers);
        while (layers && !take(more)) {
            layers = std::min(layers - 1, of_toffoli);
            more = own;
            widen(more, along, layers);
        }
        if (layers) own = std::move(more);
        return layers > 0;
    }
    // Makes phases of all of a sandwich, if they are fewer.
    bool take(Sandwich& own) {
        const Beginning all = find_whole(own.core, work_);
        if (!all.pieces || all.phases.parities || !is_fewer(own.core, all)) return false;
        Pieces made(static_cast<int>(on_wire_.size()), false);
        put_phases(own.core, all, made);
        own.core.pieces = std::move(made.all);
        each(own.core.wires, [&](int wire) {
            const Matrix2& turn = made.carried(wire);
            if (!is_nothing(turn)) own.core.pieces.push_back({Piece::turn, unit(wire), 0, 0, {turn}, {}, 0, 0});
        });
        phase_ += made.phase, nothing_ += made.nothing;
        return true;
    }

    const Pieces& given_;
    std::vector<std::vector<Index>> on_wire_;
    std::vector<Index> taken_;  // by the sandwich around which phase
    std::vector<std::pair<Index, Cluster>> found_;
    double phase_ = 0;
    std::size_t nothing_;
    std::size_t within_;
    std::size_t& work_;
};

}  // namespace

Pieces without_computing(Pieces given, std::size_t within, std::size_t& work, std::size_t& found) {
    const std::size_t begun = work;
    std::size_t more = 0;  // that was found here
    for (int round = 0; round < most_rounds; ++round) {
        given = with_merged_phases(given);
        Sandwiches sandwiches(given, begun + within + for_found * more, work);
        const std::size_t now = sandwiches.run();
        if (!now) break;
        found += now, more += now;
        given = sandwiches.result();
    }
    return given;
}

}  // namespace qx::form
