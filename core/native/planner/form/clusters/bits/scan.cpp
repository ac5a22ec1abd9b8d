// What pieces from one on do in all, as far as that is looked for.

#include "planner/form/clusters/bits/scan.hpp"

#include <algorithm>
#include <utility>

#include "thresholds/table.hpp"

namespace qx::form {

namespace {

// As long as nothing is found, `most_more` times as many steps as are enough are added where many pieces act for each
// thing that is left: one gate under many conditions may come.
constexpr std::size_t most_more = 3;
constexpr double least_again = 4;  // so many where frames were let go of, or others are not found
// Steps through what all is for each one of pieces that act; more where less is left than before, and where few things are
// left, beside a part of what all may take.
constexpr std::size_t for_step = 2, for_step_back = 4, few = 3, part_for_few = 4;

}  // namespace

End Scanner::best(std::size_t from, Steps& taken) {
    bool refused = false;
    End out = scan(from, Frames::guessed, taken, refused);
    if (out.pieces || !refused || taken.again >= within_ / 2) return out;
    const std::size_t before = taken.all;
    out = scan(from, Frames::let_go, taken, refused);
    taken.again += taken.all - before;
    if (out.worth < least_again) out.pieces = 0;  // what is inside is kept: others that begin there are hardly worth more
    return out;
}

// What does not fit comes behind, and what is on other wires and does not come again comes first. refused: whether some
// piece is not diagonal.
End Scanner::scan(std::size_t from, Frames frames, Steps& taken, bool& refused) {
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
        const std::size_t more = taken.more < within_ ? std::min(within_ - taken.more, most_more * enough()) : 0;
        const bool is_promising = !best.pieces && now.have_many_acted();
        const bool is_enough = steps() > enough() + (is_promising ? more : 0);
        if (thresholds.first_entries.met(thresholds.piece_entries.met(is_enough))) break;
        if (given_.is_gone(k)) continue;
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
            else each(piece.wires, [&](int wire) { left[static_cast<std::size_t>(wire)].push_back(piece.axis_of(wire)); });
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
    if (steps() > enough()) taken.more += steps() - enough();
    taken.all += now.work();
    inside.resize(best.pieces);
    if (best.pieces) std::erase_if(before, [&](std::size_t k) { return k > inside.back(); });
    best.inside = std::move(inside), best.before = std::move(before);
    return best;
}

// Whether what all is may be few enough pieces behind one more, and is worth looking at. As long as nothing goes, it is as
// many as it was last, or, of short ones, half of that.
bool Scanner::may_look(const Evaluation& now, std::size_t pieces, const End& best, Looked& at) const {
    const bool is_long = thresholds.short_pieces.met(pieces > static_cast<std::size_t>(thresholds.short_pieces));
    const double number = static_cast<double>(pieces), part = is_long ? 1 : 0.5;
    const std::size_t fewer = std::exchange(at.fewest, now.fewest()), less = std::exchange(at.left, now.left());
    if (pieces < 2 || number < std::max(least_worth, best.worth / 2) * static_cast<double>(now.fewest_steps())) return false;
    const bool goes = at.fewest < fewer || at.left < less;
    if (!goes && number < part * std::max(least_worth, best.worth) * static_cast<double>(now.needed())) return false;
    const std::size_t steps = now.work() - at.entries, back = for_step_back * steps;
    const std::size_t of_steps = at.fewest < fewer ? back : for_step * steps;
    if (at.entries <= of_steps || at.entries - of_steps <= thresholds.look_entries) return true;
    return at.fewest <= few && at.entries < within_ / part_for_few + back;
}

void Scanner::look(const Evaluation& of, std::size_t pieces, End& best) {
    const auto all = static_cast<double>(pieces);
    auto found = of.in_all(static_cast<std::size_t>(all / std::max(least_worth, best.worth)));
    if (!found) return;
    const auto joins = [](const AxisPiece& one) { return count(one.wires) > 1; };
    const auto number = static_cast<double>(std::count_if(found->pieces.begin(), found->pieces.end(), joins));
    const double worth = number > 0 ? all / number : 2 * all;
    if (all > least_worth * number && worth > best.worth) best = {worth, pieces, {}, {}, std::move(*found)};
}

}  // namespace qx::form
