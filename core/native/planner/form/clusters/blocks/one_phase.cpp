// Many pieces that are one phase under many controls, where no wire was spare.
//
// In between they mix all of their wires. At the end each wire is read, which is asked of one wire after the other, with all
// others 0 at first: that is little work, and most of what is no phase is given up at the first wire or the second.

#include "planner/form/clusters/blocks/one_phase.hpp"

#include <algorithm>
#include <utility>

#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr double rounding = 1e-12;
constexpr std::size_t beside = 100;  // entries that take as long as what else is done for a piece
constexpr std::size_t least = 12;  // pieces
constexpr int most_wires = 7;
constexpr std::ptrdiff_t most_looked_at = 12;  // of the numbers of pieces that may be one phase, the last ones

// Leaves those numbers of first pieces for which one wire may be read, as far as inputs of it alone tell, if others are 0.
void keep_read(const std::vector<Piece>& pieces, int wire, std::vector<std::size_t>& numbers, std::size_t& work) {
    Segment made;
    std::vector<int> wires{wire}, left;
    made.add_wire();
    bool is_read = true, is_known = true;
    std::size_t done = 0;
    for (const std::size_t number : numbers) {
        for (; done < number; ++done) {
            act(pieces[done], made, wires, unit(0));
            is_known = is_known && !(pieces[done].wires >> wire & 1);
            work += 3 * made.size() + beside;
        }
        if (!is_known) is_read = made.rank(0) < 3, is_known = true, work += 3 * made.size();
        if (is_read) left.push_back(static_cast<int>(number));
    }
    numbers.assign(left.begin(), left.end());
}

}  // namespace

LongCluster::LongCluster(Cluster begun, const std::vector<Piece>& given, std::size_t next, Mask closed)
    : of(std::move(begun)) {
    for (std::size_t k = next; k < given.size() && of.pieces.size() < most && of.wires & ~closed; ++k) {
        const Piece& piece = given[k];
        const bool takes = piece.joins() && !(piece.wires & closed) && piece.wires & of.wires;
        if (takes && count(of.wires | piece.wires) <= most_wires)
            of.wires |= piece.wires, of.pieces.push_back(piece), taken.push_back(k);
        else closed |= piece.wires;
    }
}

bool may_be_phase(const Cluster& of) {
    return static_cast<Int>(of.pieces.size()) >= thresholds.pieces_of_phase && count(of.wires) <= most_wires;
}

Beginning find_phase(const Cluster& of, std::size_t& work) {
    std::vector<int> order;  // of wires, those that are turned most first
    std::array<std::size_t, 64> turns{};
    each(of.wires, [&](int wire) {
        order.push_back(wire);
        for (const Piece& piece : of.pieces)
            if (piece.wires >> wire & 1)
                turns[static_cast<std::size_t>(wire)] += std::norm(piece.turn_of(wire)[1]) > rounding;
    });
    const auto rank = [&](int wire) { return std::pair(turns[static_cast<std::size_t>(wire)], wire); };
    std::sort(order.begin(), order.end(), [&](int one, int other) { return rank(one) > rank(other); });
    std::vector<std::size_t> numbers;
    for (std::size_t n = least; n <= of.pieces.size(); ++n) numbers.push_back(n);
    for (const int wire : order) keep_read(of.pieces, wire, numbers, work);
    Segment whole;
    Beginning best, now;
    std::size_t done = 0;
    if (std::ssize(numbers) > most_looked_at) numbers.erase(numbers.begin(), numbers.end() - most_looked_at);
    for (const std::size_t number : numbers) {
        for (; done < number; ++done) act(of.pieces[done], whole, now.wires), work += 3 * whole.size();
        work += 20 * whole.size();
        if (!whole.diagonal(rounding, now.local)) continue;
        now.phases = joint_phases(now.local.phases, rounding);
        now.pieces = number;
        if (now.phases.joint.size() <= 1) best = now;
    }
    return best;
}

}  // namespace qx::form
