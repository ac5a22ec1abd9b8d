// Pieces that stay on few wires, as one.

#include "planner/form/clusters/cluster.hpp"

#include <algorithm>
#include <utility>

#include "planner/form/clusters/conserved.hpp"

namespace qx::form {

namespace {

constexpr double rounding = 1e-12;
constexpr Matrix2 flip{0, 1, 1, 0};
constexpr std::size_t least_of_three = 12;  // pieces of a block; fewer are no dearer one by one
constexpr std::size_t most_of_both = 8;     // pieces at the end of a block on each side of its wires, if on both
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
            const int rank = made_.rank(wire);
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

void act(const Piece& piece, Segment& on, std::vector<int>& wires, Mask whole) {
    Mask bits = 0, values = 0;
    each(piece.wires, [&](int wire) {
        const int at = static_cast<int>(std::find(wires.begin(), wires.end(), wire) - wires.begin());
        if (at == on.wires()) wires.push_back(wire), on.add_wire(!(whole >> at & 1));
        else on.turn(at, piece.turn_of(wire));
        bits |= unit(at);
        if (piece.values >> wire & 1) values |= unit(at);
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

namespace {

// A block that the first pieces of a cluster are.
struct Block {
    std::vector<Piece> pieces{};  // of the cluster, in an order in which those come first
    std::size_t number = 0, zeros = 0;
    std::vector<Complex> entries{};
    Turns around{};
};

// Makes a matrix of pieces.
class Product {
  public:
    Product(Mask wires, std::size_t& work) : work_(work) {
        each(wires, [&](int wire) { on_.push_back(wire), made_.add_wire(); });
    }

    void add(const Piece& piece) { act(piece, made_, on_), work_ += made_.size(); }
    int mixed() const {
        int out = 0;
        for (int k = 0; k < made_.wires(); ++k) out += made_.rank(k) > 2;
        return out;
    }
    // Makes the block of so many pieces better, if what they are has more zeros.
    void look(const std::vector<Piece>& pieces, std::size_t number, Block& best) const {
        Block own{{}, number, 0, made_.dense(), {}};
        own.around = take_turns(own.entries, made_.wires());
        for (const Complex& one : own.entries) own.zeros += std::abs(one) < rounding;
        if (best.number && std::pair(own.zeros, number) <= std::pair(best.zeros, best.number)) return;
        own.pieces = pieces;
        best = std::move(own);
    }

  private:
    Segment made_;
    std::vector<int> on_;
    std::size_t& work_;
};

// Pieces of a cluster whose wires have two sides: those that nothing can be put off of, and others of each side behind them.
struct Sides {
    std::vector<Piece> first{};
    std::array<std::vector<Piece>, 2> behind{};
};

Sides put_off(const std::vector<Piece>& pieces, Mask side) {
    Sides out;
    Mask stays = 0;  // the wires of pieces that others stand before
    for (std::size_t k = pieces.size(); k-- > 0;) {
        const Piece& piece = pieces[k];
        const bool crosses = (piece.wires & side) && (piece.wires & ~side);
        if (crosses || (piece.wires & stays)) stays |= piece.wires, out.first.push_back(piece);
        else out.behind[piece.wires & side ? 1 : 0].push_back(piece);
    }
    for (auto* one : {&out.first, &out.behind[0], &out.behind[1]}) std::reverse(one->begin(), one->end());
    return out;
}

// Looks at what is left of a cluster without pieces at the end on one side, on the other, or both.
void look_at_sides(const Cluster& of, Mask side, std::size_t least, std::size_t& work, Block& best) {
    const auto [first, behind] = put_off(of.pieces, side);
    Product outer(of.wires, work);
    for (const Piece& piece : first) outer.add(piece);
    for (std::size_t n = 0; n <= behind[1].size(); ++n) {
        if (n) outer.add(behind[1][n - 1]);
        Product inner = outer;
        const std::size_t most = !n ? behind[0].size() : n <= most_of_both ? most_of_both : 0;
        for (std::size_t k = 0; k <= std::min(most, behind[0].size()); ++k) {
            if (k) inner.add(behind[0][k - 1]);
            if (first.size() + n + k < least) continue;
            std::vector<Piece> pieces = first;
            const auto put = [&](const std::vector<Piece>& from, std::size_t begin, std::size_t end) {
                pieces.insert(pieces.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
                              from.begin() + static_cast<std::ptrdiff_t>(end));
            };
            put(behind[1], 0, n), put(behind[0], 0, k);
            put(behind[1], n, behind[1].size()), put(behind[0], k, behind[0].size());
            inner.look(pieces, first.size() + n + k, best);
        }
    }
}

}  // namespace

std::size_t put_block(Cluster& of, int wires, Pieces& to, std::size_t& work) {
    const bool is_wide = wires > 3;
    const std::size_t least = is_wide ? least_of_four : least_of_three;
    if (of.pieces.size() < least || count(of.wires) < wires) return 0;
    if (std::size_t alone; is_wide && find_phases(of, of.pieces.size(), good, alone, work).pieces) return 0;
    Product whole(of.wires, work);
    for (const Piece& piece : of.pieces) whole.add(piece);
    const int mixed = whole.mixed();  // of three wires and one that is read, smaller pieces under a control are found
    if (mixed != wires && !(is_wide && mixed == 2)) return 0;
    Block best;
    whole.look(of.pieces, of.pieces.size(), best);
    for (Mask side = of.wires & (of.wires - 1); is_wide && side; side = (side - 1) & of.wires)
        if (!(side & -of.wires & of.wires)) look_at_sides(of, side, least, work, best);
    Piece block{Piece::block, of.wires, 0, 0, {}, std::move(best.entries)};
    block.parts = 0;
    for (std::size_t n = 0; n < best.number; ++n) block.parts += best.pieces[n].parts;
    std::size_t place = 0;
    each(of.wires, [&](int wire) { to.carried(wire) = best.around.before[place++] * to.carried(wire); });
    to.put(std::move(block), false);
    place = 0;
    each(of.wires, [&](int wire) { to.carried(wire) = best.around.behind[place++] * to.carried(wire); });
    of.pieces = std::move(best.pieces);
    return best.number;
}

Beginning find_whole(const Cluster& of, std::size_t& work) {
    const auto act_all = [&](Segment& made, std::vector<int>& wires, Mask whole) {
        for (const Piece& piece : of.pieces) act(piece, made, wires, whole), work += 3 * made.size();
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
    to.phase += phases.all;
    for (std::size_t k = 0; k < wires.size(); ++k) {
        Matrix2& own = to.carried(wires[k]);
        own = local.behind[k] * phase2(phases.single[k]) * (flipped & unit(wires[k]) ? flip * own : own);
    }
}

}  // namespace qx::form
