// An order of pieces in which those on few wires lie together.

#include "planner/form/clusters/order/piece_order.hpp"

#include <algorithm>

namespace qx::form {

namespace {

constexpr std::size_t pieces_ahead = 32;  // that are looked at

class Order {
  public:
    Order(const std::vector<Piece>& pieces, int wires) : pieces_(pieces), on_wire_(static_cast<std::size_t>(wires)) {
        next_.resize(on_wire_.size()), used_.resize(on_wire_.size());
        for (Index k = 0; k < pieces.size(); ++k)
            each(pieces[k].wires, [&](int wire) { on_wire_[static_cast<std::size_t>(wire)].push_back(k); });
        for (int wire = 0; wire < wires; ++wire) wake(wire);
    }

    // Returns the next piece; there is one.
    Index next(int most) {
        Index first = none, inside = none, beside = none, latest = 0;
        for (const Index one : ready_) {
            const Mask wires = pieces_[one].wires;
            first = std::min(first, one);
            if (!(wires & ~around_)) {  // of the wires that were used last, for what is left of a gate is there
                const Index used = used_last(wires);
                if (inside == none || used > latest || (used == latest && one < inside)) inside = one, latest = used;
            }
            if (wires & around_ && count(wires | around_) <= most) beside = std::min(beside, one);
        }
        const Index out = inside != none ? inside : beside != none ? beside : first;
        const Mask wires = pieces_[out].wires;
        around_ = inside != none || beside != none ? around_ | wires : wires;
        std::erase(ready_, out);
        ++step_;
        each(wires,
             [&](int wire) { ++next_[static_cast<std::size_t>(wire)], used_[static_cast<std::size_t>(wire)] = step_; });
        each(wires, [&](int wire) { wake(wire); });
        return out;
    }

  private:
    static constexpr Index none = ~Index{0};

    bool is_first(Index piece, int wire) const {
        const auto at = static_cast<std::size_t>(wire);
        return next_[at] < on_wire_[at].size() && on_wire_[at][next_[at]] == piece;
    }

    // Returns when all wires of some had been used.
    Index used_last(Mask wires) const {
        Index out = step_;
        each(wires, [&](int wire) { out = std::min(out, used_[static_cast<std::size_t>(wire)]); });
        return out;
    }

    // Lets the next piece of a wire be ready if it is the next one of all its wires.
    void wake(int wire) {
        const auto at = static_cast<std::size_t>(wire);
        if (next_[at] == on_wire_[at].size()) return;
        const Index piece = on_wire_[at][next_[at]];
        bool is_ready = std::find(ready_.begin(), ready_.end(), piece) == ready_.end();
        each(pieces_[piece].wires, [&](int other) { is_ready = is_ready && is_first(piece, other); });
        if (is_ready) ready_.push_back(piece);
    }

    const std::vector<Piece>& pieces_;
    std::vector<std::vector<Index>> on_wire_;
    std::vector<std::size_t> next_;  // of those on each wire
    std::vector<Index> ready_;       // at most as many as wires
    std::vector<Index> used_;   // of each wire, after how many pieces
    Index step_ = 0;
    Mask around_ = 0;
};

}  // namespace

std::vector<Piece> near_each_other(std::vector<Piece> pieces, int wires, int most) {
    Order order(pieces, wires);
    std::vector<Index> found;
    for (std::size_t k = 0; k < pieces.size(); ++k) found.push_back(order.next(most));
    std::vector<Piece> out;
    out.reserve(pieces.size());
    for (const Index one : found) out.push_back(std::move(pieces[one]));
    return out;
}

Mask wires_ahead(const std::vector<Piece>& pieces, std::size_t from, Mask wires, int most) {
    for (std::size_t k = from; k < std::min(from + pieces_ahead, pieces.size()); ++k) {
        const Mask own = pieces[k].wires;
        if (!(own & wires)) continue;
        if (count(own | wires) > most) break;
        wires |= own;
    }
    return wires;
}

}  // namespace qx::form
