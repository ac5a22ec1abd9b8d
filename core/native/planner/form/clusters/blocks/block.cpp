// Dense blocks: pieces that stay on three wires, or on four, as one matrix.

#include "planner/form/clusters/blocks/block.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "planner/form/clusters/blocks/conserved.hpp"
#include "planner/form/clusters/blocks/halves.hpp"
#include "planner/form/clusters/pair.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr double rounding = 1e-12;
constexpr std::size_t most_of_both = 8;     // pieces at the end of a block on each side of its wires, if on both
// Entries of a matrix on four wires: as many as take as long as one of two wires, and the most between such matrices.
constexpr std::size_t of_half = 64, most_between_halves = 192;
constexpr double phases = 4;                // how many pieces make one phase where that is better than a block

// A block that the first pieces of a cluster are.
struct Block {
    std::vector<Piece> pieces{};  // of the cluster, in an order in which those come first
    std::size_t number = 0, zeros = 0;
    std::vector<Complex> entries{};
    Turns around{};

    bool is_worse_than(const Block& other) const {
        return !number || zeros < other.zeros || (zeros == other.zeros && number < other.number);
    }
};

// Makes a matrix of pieces.
class Product {
  public:
    Product(Mask wires, std::size_t& work) : work_(work) {
        each(wires, [&](int wire) { on_.push_back(wire), made_.add_wire(); });
    }

    void add(const Piece& piece) { act(piece, made_, on_), work_ += made_.size(); }
    Mask mixed() const {
        Mask out = 0;
        for (std::size_t k = 0; k < on_.size(); ++k)
            if (made_.rank(static_cast<int>(k)) > 2) out |= unit(on_[k]);
        return out;
    }
    std::vector<Complex> dense() const { return made_.dense(); }
    // Takes a block of so many pieces, if it is the best: of those that have most zeros, that of most pieces.
    void look(const std::vector<Piece>& pieces, std::size_t number, Block& best) const {
        Block own{{}, number, 0, made_.dense(), {}};
        own.around = take_turns(own.entries, made_.wires());
        for (const Complex& one : own.entries) own.zeros += size_of(one) < rounding;
        if (!best.is_worse_than(own)) return;
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
    if (behind[0].empty() && behind[1].empty()) return;
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

// Returns how many pieces one behind the other are on three wires.
template <class At>
std::size_t num_on_three(const At& begin, const At& end) {
    Mask wires = 0;
    const At other = std::find_if(begin, end, [&](const Piece& one) { return count(wires |= one.wires) > 3; });
    return static_cast<std::size_t>(other - begin);
}

bool has_joint(const std::vector<Piece>& pieces) {
    return std::any_of(pieces.begin(), pieces.end(), [](const Piece& one) { return one.joins(); });
}

// Puts all pieces of a cluster on four wires as what matrices of two wires leave of theirs, if that is less than so many
// entries together; those behind it are pieces of the cluster then, since they may belong to what comes next.
bool put_between_halves(Cluster& of, const std::vector<Complex>& matrix, std::size_t within, Pieces& to) {
    std::vector<int> on;
    each(of.wires, [&](int wire) { on.push_back(wire); });
    Halves best;
    std::array<std::array<std::vector<Piece>, 2>, 2> around;  // before and behind
    double phase = 0;
    for (const Mask low : {0b0011, 0b0101, 0b1001}) {
        Halves own = take_halves(matrix, low);
        std::size_t entries = own.filled;
        if (entries >= within) continue;
        double its_phase = 0;
        std::array<std::array<std::vector<Piece>, 2>, 2> its;
        for (std::size_t half = 0; half < 2; ++half) {
            const Mask wires = unit(on[static_cast<std::size_t>(lowest(own.bits[half]))]) |
                               unit(on[static_cast<std::size_t>(highest(own.bits[half]))]);
            its[0][half] = pieces_of(own.before[half], wires, its_phase);
            its[1][half] = pieces_of(own.behind[half], wires, its_phase);
            if (has_joint(its[0][half])) entries += of_half;
        }
        if (entries < within) within = entries, best = std::move(own), around = std::move(its), phase = its_phase;
    }
    if (best.left.empty()) return false;
    to.add_phase(phase);
    for (std::vector<Piece>& half : around[0])
        for (Piece& one : half) to.put(std::move(one), false);
    Piece block{Piece::block, of.wires, 0, 0, {}, std::move(best.left)};
    block.parts = 0;
    for (const Piece& one : of.pieces) block.parts += one.parts;
    to.put(std::move(block), false);
    for (std::vector<Piece>& half : around[1]) std::move(half.begin(), half.end(), std::back_inserter(of.pieces));
    return true;
}

// As how many gates on two wires a transpiler writes a piece: around a parity stand two CX for each wire but one.
std::size_t in_cx(const Piece& piece) {
    const auto wires = static_cast<std::size_t>(count(piece.wires));
    return piece.kind == Piece::parity && wires > 2 ? 2 * (wires - 1) : 1;
}
// All of the first ones that are on some wires alone.
std::size_t in_cx(const std::vector<Piece>& pieces, std::size_t number, Mask wires) {
    std::size_t out = 0;
    for (std::size_t k = 0; k < number; ++k) out += pieces[k].wires & ~wires ? 0 : in_cx(pieces[k]);
    return out;
}
// Most of them that are on all wires of a cluster but one.
std::size_t most_beside_one(const Cluster& of) {
    std::size_t out = 0;
    each(of.wires, [&](int wire) { out = std::max(out, in_cx(of.pieces, of.pieces.size(), of.wires & ~unit(wire))); });
    return out;
}

// All of a cluster, where those one behind the other on two wires are as few as they can be.
std::size_t in_pairs(const Cluster& of, std::size_t& work) {
    std::vector<Cluster> open;
    std::size_t out = 0;
    const auto close = [&](Mask wires) {
        for (const Cluster& one : open) out += one.wires & wires ? fewest_on_two(one, work) : 0;
        std::erase_if(open, [&](const Cluster& one) { return (one.wires & wires) != 0; });
    };
    for (const Piece& piece : of.pieces) {
        const auto same = [&](const Cluster& one) { return one.wires == piece.wires; };
        if (const auto at = std::find_if(open.begin(), open.end(), same); at != open.end()) {
            at->pieces.push_back(piece);
            continue;
        }
        close(piece.wires);
        if (count(piece.wires) > 2) out += in_cx(piece);
        else open.push_back({piece.wires, {piece}});
    }
    close(of.wires);
    return out;
}

}  // namespace

std::size_t put_block(Cluster& of, int wires, Pieces& to, std::size_t& work) {
    if (count(of.wires) < wires) return 0;
    const bool is_wide = wires > 3;
    const auto of_three = static_cast<std::size_t>(thresholds.pieces_of_three);
    const std::size_t all = in_cx(of.pieces, of.pieces.size(), of.wires);
    const bool is_short = is_wide && all < thresholds.block_pieces;
    // Three quarters of the pieces, where those one behind the other on the same two wires are as few as they can be.
    const bool may_be_sparse =
        is_short && all >= thresholds.sparse_pieces && 4 * in_pairs(of, work) / 3 >= thresholds.sparse_pieces;
    const Int given = may_be_sparse          ? thresholds.sparse_pieces
                      : is_wide && !is_short ? thresholds.block_pieces
                                             : thresholds.pieces_of_three;
    const auto least = static_cast<std::size_t>(std::max<Int>(1, given));
    if ((is_short && !may_be_sparse ? most_beside_one(of) : all) < least) return 0;
    if (!is_wide && in_pairs(of, work) < least) return 0;
    if (is_wide && num_on_three(of.pieces.begin(), of.pieces.end()) + num_on_three(of.pieces.rbegin(), of.pieces.rend()) >=
                       of.pieces.size())
        return 0;  // two smaller ones
    if (std::size_t alone; is_wide && find_phases(of, of.pieces.size(), phases, alone, work).pieces) return 0;
    Product whole(of.wires, work);
    for (const Piece& piece : of.pieces) whole.add(piece);
    const Mask mixed = whole.mixed();
    // A wire that is only read costs nothing: a dense matrix that mixes three others is as one on these.
    const bool reads = is_short && count(mixed) == 3 && in_cx(of.pieces, of.pieces.size(), mixed) >= of_three;
    if (is_short && !reads && !may_be_sparse) return 0;
    if (count(mixed) < (is_wide ? 2 : 3)) return 0;
    Block best;
    const std::size_t number = of.pieces.size(), size = std::size_t{1} << 2 * wires;
    whole.look(of.pieces, of.pieces.size(), best);
    for (Mask side = of.wires & (of.wires - 1); side; side = (side - 1) & of.wires)
        if (!(side & -of.wires & of.wires)) look_at_sides(of, side, least, work, best);
    // One that mixes two wires is a matrix of these that others select, which is found later.
    const bool is_sparse = may_be_sparse && count(mixed) > 2 && size - best.zeros <= thresholds.sparse_entries;
    if (is_short && !is_sparse && !(reads && 2 * best.zeros == size)) return 0;
    const std::size_t filled = std::min(most_between_halves, size - best.zeros);
    if (is_wide && !is_short && filled > of_half && put_between_halves(of, whole.dense(), filled, to)) return number;
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

bool may_have_wide_blocks(const Pieces& of) {
    struct Run {
        Mask wires = 0;
        std::size_t pieces = 0;
    };
    std::vector<Run> runs(of.carried().size());
    bool out = false;
    for (const Piece& piece : of.all)
        each(piece.wires, [&](int wire) {
            Run& own = runs[static_cast<std::size_t>(wire)];
            if (!piece.joins() || count(own.wires | piece.wires) > 4) own = {};
            if (!piece.joins()) return;
            own.wires |= piece.wires, own.pieces += in_cx(piece);
            out = out || 3 * own.pieces / 2 >= thresholds.pieces_of_three;
        });
    return out;
}

}  // namespace qx::form
