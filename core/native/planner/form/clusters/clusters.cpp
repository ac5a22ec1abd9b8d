// Gates on the same few wires, found again as one.

#include "planner/form/clusters/clusters.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <tuple>

#include "planner/form/clusters/bits/axis.hpp"
#include "planner/form/clusters/bits/evaluated.hpp"
#include "planner/form/clusters/blocks/block.hpp"
#include "planner/form/clusters/blocks/controlled.hpp"
#include "planner/form/clusters/blocks/selected.hpp"
#include "planner/form/clusters/controlled_turns.hpp"
#include "planner/form/clusters/order/piece_order.hpp"
#include "planner/form/clusters/pair.hpp"
#include "planner/form/clusters/settled_turns.hpp"
#include "planner/form/clusters/toffolis/sandwiches.hpp"
#include "planner/form/clusters/toffolis/windows.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr double pi = std::numbers::pi;

// A pass: clusters of at most so many wires become blocks, or phases, as long as no more entries are looked at in all passes
// so far, for each piece that was read; and more where something is found.
struct Pass {
    int wires;
    enum { phases, blocks, controlled } looks_for;
    std::size_t work;
    double least;  // how many pieces have to make one

    std::size_t most_pieces() const { return looks_for == blocks ? 512 : 64; }  // of a cluster
    bool looks_ahead() const { return looks_for == blocks && wires == 4; }  // where others than the longest are cut
};
constexpr double many = 2;  // passes in which fewer make one come last, where much was found
constexpr std::array<Pass, 9> passes{{{4, Pass::blocks, 0, many},
                                      {3, Pass::blocks, 0, many},  // of which pairs may be part
                                      {2, Pass::phases, 250, many},
                                      {3, Pass::blocks, 0, many},
                                      {8, Pass::phases, 200, many},
                                      {4, Pass::phases, 250, many},
                                      {4, Pass::phases, 250, 1.4},
                                      {3, Pass::controlled, 250, 1},
                                      {2, Pass::phases, 100, 1.4}}};
constexpr std::size_t before_pairs = 2, on_many_wires = 5, last_of_many = 6;  // the numbers of passes
constexpr std::size_t work_at_first = 100'000, work_for_found = 10'000;
constexpr std::size_t work_in_windows = 100;
constexpr std::size_t read_of_each = 4;      // pieces of those that were read, for each one that is left for bits
constexpr std::size_t work_around = 200;     // entries around phases, for each piece that was read
constexpr double much = 4;                   // gain of phases that are worth more work
constexpr double on_bits = 2;                // as much may be taken for nothing there as gates are rounded by
constexpr std::size_t patience = 24;         // clusters without phases before others are looked at less closely

}  // namespace

Clusters::Clusters(const Form& form, Int within)
    : form_(form), within_(within), rounding_(form.rounding()), left_(on_bits * rounding_.left),
      given_(form.tableau().wires(), form.on_zeros()), made_(form.tableau().wires(), form.on_zeros()), as_read_(made_),
      looks_(form.tableau().wires(), form.on_zeros()) {
    made_.phase = form.read_phase.value;
}

bool Clusters::worthwhile(Int percent) const {
    if (gave_up_) return false;
    std::size_t found = paired_ + made_.nothing;
    for (const Piece& piece : made_.all)
        if (piece.kind == Piece::block || piece.kind == Piece::controlled ||
            (piece.kind == Piece::where && count(piece.wires) > 2))
            found += piece.parts;
    percent = std::max(percent, static_cast<Int>(100 * found / std::max<std::size_t>(1, read_)));
    return percent >= thresholds.clustered_percent;
}

// Whether all looks so far have taken more than one of so many parts of what a first run allows.
bool Clusters::took_more_than(Int parts) const {
    return within_ >= 0 && parts * static_cast<Int>(work_) / std::max<Int>(1, within_) > thresholds.clustered_entries;
}

bool Clusters::advance() {
    if (took_more_than(1)) {
        gave_up_ = !looks_.any();
        if (gave_up_) return false;
        if (pass_ < passes.size()) made_ = looks_.result(), pass_ = passes.size(), open_.clear(), begin_pass();
    }
    const std::size_t all = pass_ ? given_.all.size() : form_.read_in_order.size();
    for (Int left = pass_ ? Int{64} : Int{thresholds.instructions_at_once}; left > 0 && next_ < all; --left, ++next_)
        if (pass_) add(std::move(given_.all[next_]));
        else read(form_.read_in_order[next_], static_cast<Index>(next_));
    if (next_ < all) return true;
    if (pass_) end_pass();
    if (pass_ == on_many_wires && !worthwhile())
        made_ = with_windows(std::move(made_), work_at_first + work_in_windows * read_, work_, parts_);
    if (pass_ == last_of_many) {
        const auto entries =
            static_cast<std::size_t>(looks_.any() ? thresholds.again_entries : thresholds.evaluated_entries);
        const std::size_t at_first = looks_.any() ? 0 : work_at_first;
        const std::size_t within = at_first + entries * std::min(read_, read_of_each * made_.all.size());
        made_ = evaluated(std::move(made_), looks_.on_zeros(), within, left_, work_, parts_);
        made_ = without_computing(std::move(made_), work_at_first + work_around * read_, work_, parts_);
    }
    if (pass_ == passes.size()) return false;
    if (passes[pass_].least < many && !worthwhile()) pass_ = std::max(pass_, passes.size() - 2);
    if (++pass_ == passes.size() - 1)
        made_ = with_selected(without_controls(std::move(made_), looks_.on_zeros(), paired_), paired_);
    if (pass_ == passes.size()) {
        if (looks_.end(made_, read_, !took_more_than(thresholds.looks_parts))) pass_ = 1;
        else made_ = looks_.result();
    }
    begin_pass();
    return true;
}

void Clusters::begin_pass() {
    const auto blocks = [](const Pieces& of) {
        const auto is_block = [](const Piece& one) { return one.kind == Piece::block; };
        return std::count_if(of.all.begin(), of.all.end(), is_block);
    };
    if (pass_ == 1 && !may_have_wide_blocks(made_)) pass_ += before_pairs;
    else if (pass_ > 1 && pass_ <= before_pairs + 1 && blocks(made_) == blocks(as_read_)) made_ = std::move(as_read_);
    if (pass_ <= before_pairs) as_read_ = made_;
    given_ = std::move(made_);
    given_.all = near_each_other(std::move(given_.all), form_.tableau().wires(), passes[pass_ - 1].wires);
    made_ = Pieces(form_.tableau().wires(), looks_.on_zeros());
    made_.phase = given_.phase, made_.nothing = given_.nothing;
    turns_.assign(made_.carried().size(), identity2);
    next_ = failed_ = 0, begun_ = work_, parts_begun_ = parts_;
}

void Clusters::end_pass() {
    finish(~Mask{0});
    for (int wire = 0; wire < form_.tableau().wires(); ++wire)
        made_.carried(wire) = given_.carried(wire) * turns_[static_cast<std::size_t>(wire)] * made_.carried(wire);
    if (pass_ == passes.size()) settle_turns(made_, rounding_);
}

// Makes a piece of a rotation that was read.
void Clusters::read(const ReadRotation& rotation, Index number) {
    if (rotation.under != Angle::none) return read(form_.read_under[rotation.under]);
    const Pauli& about = rotation.pauli;
    const Mask wires = about.x | about.z;
    const bool joins = count(wires) > 1;
    if (rotation.angle.varies() || count(wires) > Piece::most_wires) {
        Piece piece{Piece::rotation, wires};
        piece.number = number;
        read_ += joins;
        return put(std::move(piece));
    }
    const double angle = rotation.angle.value;
    if (!joins) {
        made_.carried(lowest(wires)) = turn_about(about, angle) * made_.carried(lowest(wires));
        return;
    }
    const SplitAngle split = rounding_.split(angle);
    if (split.rest == 0 && !(split.quarters & 1)) {  // a product of operators of single wires
        made_.add_phase(-split.quarters * (pi / 4));
        if (split.quarters & 2)
            each(wires, [&](int wire) { made_.carried(wire) = operator_of(about, unit(wire)) * made_.carried(wire); });
        return;
    }
    ++read_;
    Piece piece{Piece::parity, wires, angle};
    each(wires, [&](int wire) { piece.before.push_back(to_z(about, unit(wire))); });
    put(std::move(piece));
    each(wires, [&](int wire) { made_.carried(wire) = adjoint(to_z(about, unit(wire))) * made_.carried(wire); });
}

// Makes pieces of a matrix of a wire under conditions: a phase about its axis, and another one of the conditions.
void Clusters::read(const ReadUnder& matrix) {
    const AxisPhase of = axis_phase(matrix.matrix);
    const Mask wire = unit(matrix.wire);
    ++read_;
    const auto where = [&](Mask wires, double angle, const Matrix2& turn) {
        if (is_nothing(phase2(angle))) return;
        Piece piece{Piece::where, wires, angle, matrix.values | (wires & wire)};
        each(wires, [&](int one) { piece.before.push_back(one == matrix.wire ? turn : identity2); });
        put(std::move(piece));
    };
    where(matrix.conditions, of.phase, identity2);
    where(matrix.conditions | wire, of.angle, to_z(of.axis));
    made_.carried(matrix.wire) = adjoint(to_z(of.axis)) * made_.carried(matrix.wire);
}

// Adds a piece to the cluster of its wires, of which a beginning is put where there would be too many wires.
void Clusters::add(Piece piece) {
    if (piece.kind == Piece::turn) {
        finish(piece.wires);  // or what is left of a cluster would be added behind it
        Matrix2& own = turns_[static_cast<std::size_t>(lowest(piece.wires))];
        own = piece.before[0] * own;
        return;
    }
    if (!piece.joins()) {
        finish(piece.wires);
        return put(behind_turns(std::move(piece)));
    }
    const auto meets = [&](const Cluster& one) { return (one.wires & piece.wires) != 0; };
    const Pass& pass = passes[pass_ - 1];
    for (;;) {
        Mask wires = piece.wires;
        std::size_t number = 1;
        for (const Cluster& one : open_)
            if (meets(one)) wires |= one.wires, number += one.pieces.size();
        if (number == 1) {
            if (count(wires) > pass.wires) return put(behind_turns(std::move(piece)));
            open_.push_back({wires, {}, is_rest_});
            return open_.back().pieces.push_back(behind_turns(std::move(piece)));
        }
        const bool is_full = count(wires) > pass.wires || number > pass.most_pieces();
        const Mask ahead = is_full && pass.looks_ahead() ? wires_ahead(given_.all, next_ + 1, piece.wires, pass.wires) : 0;
        const std::size_t longest = longest_of(piece.wires, ahead);
        if (is_full) {
            cut(longest, ahead);
            continue;
        }
        Cluster& into = open_[longest];
        for (Cluster& one : open_)
            if (&one != &into && meets(one)) {
                std::move(one.pieces.begin(), one.pieces.end(), std::back_inserter(into.pieces));
                one.wires = 0;
            }
        into.wires = wires;
        into.pieces.push_back(behind_turns(std::move(piece)));
        std::erase_if(open_, [](const Cluster& one) { return !one.wires; });
        return;
    }
}

// Returns the cluster of most pieces that is on some wires, of those that are not only on the wires ahead if there are such.
std::size_t Clusters::longest_of(Mask wires, Mask ahead) const {
    const auto rank = [&](const Cluster& one) {
        return std::tuple((one.wires & wires) != 0, (one.wires & ~ahead) != 0, one.pieces.size());
    };
    const auto less = [&](const Cluster& one, const Cluster& other) { return rank(one) < rank(other); };
    return static_cast<std::size_t>(std::max_element(open_.begin(), open_.end(), less) - open_.begin());
}

// Lets the turns that wait on the wires of a piece act before it.
Piece Clusters::behind_turns(Piece piece) {
    std::size_t place = 0;
    each(piece.wires, [&](int wire) {
        Matrix2& own = turns_[static_cast<std::size_t>(wire)];
        if (piece.has_turns()) piece.before[place] = piece.before[place] * own, ++place;
        else made_.carried(wire) = own * made_.carried(wire);
        own = identity2;
    });
    return piece;
}

// Puts all that waits on some wires.
void Clusters::finish(Mask wires) {
    for (std::size_t k = 0; k < open_.size();)
        if (open_[k].wires & wires) cut(k), k = 0;
        else ++k;
}

// Whether so much work has been done that the rest of a pass is put as it is.
bool Clusters::is_tired() const {
    return work_ - begun_ > work_at_first + passes[pass_ - 1].work * read_ + work_for_found * (parts_ - parts_begun_);
}

// Puts a beginning of a cluster, and adds what is left of it again. ahead: the wires of what comes next.
void Clusters::cut(std::size_t cluster, Mask ahead) {
    Cluster own = std::move(open_[cluster]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(cluster));
    std::size_t done = own.pieces.size(), alone = 0;
    if (passes[pass_ - 1].looks_for == Pass::controlled && !is_tired()) done = alone = put_controlled(own, made_, work_);
    if (passes[pass_ - 1].looks_for == Pass::blocks) {
        if (const std::size_t put = put_block(own, passes[pass_ - 1].wires, made_, work_)) done = alone = put;
        else if (passes[pass_ - 1].looks_ahead() && static_cast<Int>(done) < thresholds.block_pieces)
            done = put_last(own.pieces, ahead);
    }
    if (passes[pass_ - 1].wires == 2)
        if (own.is_rest |= pass_ < passes.size(); const std::optional<Weyl> pair = find_pair(own, work_)) {
            for (const Piece& piece : own.pieces) paired_ += piece.parts;
            return put_pair(own, *pair, made_);
        }
    if (passes[pass_ - 1].looks_for == Pass::phases && !is_tired() && done > 1) {
        if (const Beginning found = find_phases(own, done, passes[pass_ - 1].least, alone, work_); found.pieces) {
            put_phases(own, found, made_);
            if (passes[pass_ - 1].wires == 2)
                for (std::size_t k = 0; k < found.pieces; ++k) paired_ += own.pieces[k].parts;
            done = found.pieces, failed_ = 0, alone = done;
            if (found.gain() >= much || passes[pass_ - 1].least < many) parts_ += done;
        } else {  // a phase may begin behind the first piece
            done = alone == done ? done : std::max<std::size_t>(1, alone / 2);
            if (++failed_ > patience && passes[pass_ - 1].least >= many) done = std::max(done, own.pieces.size() / 4);
            alone = 0;
        }
    }
    for (std::size_t k = alone; k < done; ++k) put(std::move(own.pieces[k]));
    is_rest_ = true;
    for (std::size_t k = done; k < own.pieces.size(); ++k) add(std::move(own.pieces[k]));
    is_rest_ = false;
}

void Clusters::put(Piece piece) { made_.put(std::move(piece), pass_ == passes.size()); }

}  // namespace qx::form
