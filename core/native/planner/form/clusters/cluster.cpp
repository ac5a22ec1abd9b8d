// Pieces that stay on few wires, as one.

#include "planner/form/clusters/cluster.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace qx::form {

namespace {

constexpr double rounding = 1e-12;
constexpr Matrix2 flip{0, 1, 1, 0};
constexpr Mask first_wires = 0b1111;        // that are looked at together, then all others: most mixing is seen then
constexpr Mask fewest_wires = 0b11;         // that are looked at before those
constexpr std::size_t filled = 16;         // entries of a column, in the mean, of a matrix that is given up
constexpr double enough = 12;               // gain of one phase, behind which nobody looks for a better beginning
constexpr double good = 4;                  // gain of a beginning behind which that is looked for in twice as many pieces

// Whether pieces so far are diagonal but for turns, as far as inputs of some wires tell.
class Probe {
  public:
    explicit Probe(Mask whole) : whole_(whole) {}

    std::size_t size() const { return made_.size(); }
    bool is_filled() const { return made_.wires() > 3 && made_.size() > filled * made_.num_columns(); }
    // Adds a piece, and returns it.
    bool add(const Piece& piece, std::size_t& work) {
        act(piece, made_, wires_, whole_);
        work += 3 * made_.size();
        Mask bits = 0;
        for (std::size_t k = 0; k < wires_.size(); ++k) bits |= (piece.wires >> wires_[k] & 1) << k;
        unknown_ |= bits;
        if (mixed_ & ~bits) return false;  // as it was
        const Mask before = std::exchange(mixed_, 0);
        while (unknown_ && !mixed_) {
            const int wire = lowest(unknown_ & before ? unknown_ & before : unknown_);
            work += 3 * made_.size();
            const int rank = whole_ >> wire & 1 ? made_.rank(wire) : 2;  // one that is 0 at first has no more
            if (rank > 2) mixed_ = unit(wire);
            else unknown_ &= ~unit(wire), factors_ = (factors_ & ~unit(wire)) | (rank == 1 ? unit(wire) : 0);
        }
        return !mixed_;
    }
    // How many of the wires that can be other than 0 are factors; right where all are diagonal but for turns.
    int factors() const { return count(factors_ & whole_); }

  private:
    Segment made_;
    std::vector<int> wires_;
    Mask whole_, factors_ = 0, unknown_ = 0, mixed_ = 0;  // mixed: a wire that is not read, since no piece has changed that
};

}  // namespace

std::size_t put_last(std::vector<Piece>& pieces, Mask ahead) {
    std::vector<Piece> first, last;
    std::array<Mask, 64> behind{};  // of each wire, the wires of the pieces behind
    Mask stays = 0;
    for (std::size_t k = pieces.size(); k-- > 0;) {
        const Mask wires = pieces[k].wires;
        bool alone = count(wires) == 2;
        each(wires, [&](int wire) {
            Mask& on = behind[static_cast<std::size_t>(wire)];
            alone = alone && !(on & ~wires), on |= wires;
        });
        const bool goes = alone || !(wires & (stays | ~ahead));
        if (!goes) stays |= wires;
        (goes ? last : first).push_back(std::move(pieces[k]));
    }
    const std::size_t number = first.empty() ? last.size() : first.size();
    pieces.clear();
    for (std::vector<Piece>* some : {&first, &last}) std::move(some->rbegin(), some->rend(), std::back_inserter(pieces));
    return number;
}

void act(const Piece& piece, Segment& on, std::vector<int>& wires, Mask whole, bool acts) {
    Mask bits = 0, values = 0;
    each(piece.wires, [&](int wire) {
        const int at = static_cast<int>(std::find(wires.begin(), wires.end(), wire) - wires.begin());
        const bool is_new = at == on.wires(), is_fixed = !(whole >> at & 1), is_one = piece.values >> wire & 1;
        if (is_new) wires.push_back(wire), on.add_wire(is_fixed);
        if (!is_new || (acts && is_fixed && is_one)) on.turn(at, is_new ? flip : piece.turn_of(wire));
        bits |= unit(at);
        if (is_one) values |= unit(at);
    });
    if (piece.kind == Piece::parity) on.parity(bits, piece.angle);
    else on.phase(bits, values, piece.angle);
}

Beginning find_phases(const Cluster& of, std::size_t within, double least, std::size_t& alone, std::size_t& work) {
    Probe first(first_wires), others(~first_wires);
    Segment whole;
    Beginning best, now;
    std::size_t done = 0, before = 0;  // before: the last one that may be diagonal
    int factors = 0;
    alone = 0;
    const auto look = [&](std::size_t n) {
        for (; done < n; ++done) {
            act(of.pieces[done], whole, now.wires);
            work += 3 * whole.size();
        }
        work += 20 * whole.size();
        if (!whole.diagonal(rounding, now.local)) return;
        now.phases = joint_phases(now.local.phases, rounding);
        now.pieces = n;
        if (now.gain() >= least && now.worth() > best.worth()) best = now;
    };
    // Whether a piece is on no more wires than one before it, or on those of a phase that was found.
    const auto is_known = [&](std::size_t number) {
        const Mask wires = of.pieces[number].wires;
        const auto covers = [&](const Piece& one) { return !(wires & ~one.wires); };
        const auto is_on = [&](const JointPhase& one) {
            Mask on = 0;
            each(one.bits, [&](int bit) { on |= unit(best.wires[static_cast<std::size_t>(bit)]); });
            return on == wires;
        };
        return std::any_of(of.pieces.begin(), of.pieces.begin() + static_cast<std::ptrdiff_t>(number), covers) ||
               std::any_of(best.phases.joint.begin(), best.phases.joint.end(), is_on);
    };
    const auto is_enough = [&] { return best.phases.joint.size() == 1 && best.gain() >= enough; };
    for (std::size_t n = 1; n <= std::min(within, of.pieces.size()) && !is_enough(); ++n) {
        const Piece& piece = of.pieces[n - 1];
        const bool one = first.add(piece, work), other = others.add(piece, work);
        if (first.is_filled() || others.is_filled() || (best.gain() >= good && n > 6 + 2 * best.pieces)) break;
        if (!one || !other) continue;
        if (alone + 1 == n) alone = n;
        // Where it has been so one by one, phases are fewer where a wire is a factor again, or one is on the wires of
        // another.
        const int now_factors = first.factors() + others.factors();
        const bool fewer =
            before + 1 < n || now_factors > factors || n == of.pieces.size() || (least < 2 && is_known(n - 1));
        if (fewer && (alone < n || least < 2)) look(n);
        before = n, factors = now_factors;
    }
    return best;
}

Beginning find_whole(const Cluster& of, std::size_t& work) {
    const auto act_all = [&](Segment& made, std::vector<int>& wires, Mask whole) {
        for (const Piece& piece : of.pieces) act(piece, made, wires, whole, true), work += 3 * made.size();
    };
    const auto reads = [&](Mask whole) {
        Segment made;
        std::vector<int> wires;
        act_all(made, wires, whole);
        int read = 0;
        while (read < made.wires() && made.rank(read) < 3) ++read, work += 3 * made.size();
        return read == made.wires();
    };
    if (!reads(fewest_wires) || (count(of.wires) > count(first_wires) && !(reads(first_wires) && reads(~first_wires))))
        return {};
    Segment whole;
    Beginning out;
    act_all(whole, out.wires, ~Mask{0});
    work += 20 * whole.size();
    if (!whole.diagonal(rounding, out.local)) return {};
    out.phases = joint_phases(out.local.phases, rounding);
    out.pieces = of.pieces.size();
    return out;
}

void put_phases(const Cluster& of, const Beginning& beginning, Pieces& to) {
    const auto& [pieces, wires, local, phases] = beginning;
    std::vector<Matrix2> leading(wires.size(), identity2);
    std::size_t parts = 0;
    for (std::size_t n = pieces; n-- > 0; parts += of.pieces[n].parts)
        for (std::size_t k = 0; k < wires.size(); ++k)
            if (of.pieces[n].wires >> wires[k] & 1) leading[k] = of.pieces[n].turn_of(wires[k]);
    Mask flipped = 0;  // wires whose 0 and 1 change places, since less of a turn is left before them then
    for (std::size_t k = 0; k < wires.size(); ++k) {
        Matrix2& own = to.carried(wires[k]);
        own = local.before[k] * leading[k] * own;
        if (std::norm(own[0]) < std::norm(own[1]) - rounding) flipped |= unit(wires[k]), own = flip * own;
    }
    for (const JointPhase& one : phases.joint) {
        Piece piece{phases.parities ? Piece::parity : Piece::where, 0, one.angle};
        each(one.bits, [&, &wires = wires](int bit) {
            const Mask wire = unit(wires[static_cast<std::size_t>(bit)]);
            piece.wires |= wire;
            if (one.values >> bit & 1) piece.values |= wire;
        });
        if (!phases.parities) piece.values ^= flipped & piece.wires;
        else if (is_odd(flipped & piece.wires)) piece.angle = -piece.angle;
        piece.before.assign(static_cast<std::size_t>(count(piece.wires)), identity2);
        piece.parts = parts / phases.joint.size() + (&one == &phases.joint[0] ? parts % phases.joint.size() : 0);
        to.put(std::move(piece), true);
    }
    if (phases.joint.empty()) to.nothing += parts;
    to.add_phase(phases.all);
    for (std::size_t k = 0; k < wires.size(); ++k) {
        Matrix2& own = to.carried(wires[k]);
        own = local.behind[k] * phase2(phases.single[k]) * (flipped & unit(wires[k]) ? flip * own : own);
    }
}

}  // namespace qx::form
