// The pieces of each wire, and which pieces come again.

#include "planner/form/clusters/bits/piece_lines.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr std::size_t looks = 8;  // pieces on a wire among which it may get another axis

std::uint64_t key_of(const Axis& axis, std::size_t place) {
    const auto first = std::find_if(axis.begin(), axis.end(), [](double x) { return std::fabs(x) > 1e-4; });
    std::uint64_t out = place + 1;
    for (const double x : axis) {
        const double own = first != axis.end() && *first < 0 ? -x : x;
        out = out * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(std::llround(own * 1e5)), out ^= out >> 29;
    }
    return out;
}

}  // namespace

std::vector<bool> those_that_return(const AxisPieces& of) {
    std::vector<bool> out(of.all.size());
    std::map<std::uint64_t, std::size_t> next;
    for (std::size_t k = of.all.size(); k-- > 0;) {
        if (of.all[k].other) continue;
        std::vector<std::uint64_t> keys;
        std::uint64_t all = 0;
        for (const Axis& axis : of.all[k].own.axes) all ^= keys.emplace_back(key_of(axis, keys.size()));
        for (std::uint64_t& key : keys) key ^= all, key = (key + of.all[k].wires()) * 0x9e3779b97f4a7c15;
        for (const std::uint64_t key : keys) {
            const auto [at, is_new] = next.try_emplace(key, k);
            out[k] = out[k] || (!is_new && at->second - k < thresholds.pieces_ahead);
            at->second = k;
        }
    }
    return out;
}

PieceLines::PieceLines(const AxisPieces& of) : lines_(of.num_wires()) {
    for (std::size_t k = 0; k < of.all.size(); ++k)
        each(of.all[k].wires(), [&](int wire) { lines_[static_cast<std::size_t>(wire)].push_back(k); });
}

Mask PieceLines::untouched(std::size_t before) const {
    Mask out = 0;
    for (std::size_t wire = 0; wire < lines_.size(); ++wire)
        if (lines_[wire].empty() || lines_[wire].front() >= before) out |= unit(static_cast<int>(wire));
    return out;
}

int PieceLines::changes_first(const AxisPieces& of, std::size_t number, Mask among) const {
    const AxisPiece& piece = of.all[number].own;
    int out = -1;
    std::size_t least_behind = looks;
    each(piece.wires & among, [&](int wire) {
        const auto& line = lines_[static_cast<std::size_t>(wire)];
        std::size_t behind = 0;
        for (auto at = std::upper_bound(line.begin(), line.end(), number); at != line.end() && behind < least_behind; ++at) {
            if (of.all[*at].other) break;
            if (!along(of.all[*at].own.axis_of(wire), piece.axis_of(wire))) {
                least_behind = behind, out = wire;
                break;
            }
            ++behind;
        }
    });
    return out;
}

void PieceLines::number_anew(const AxisPieces& of, std::size_t from, std::size_t end) {
    std::vector<std::vector<std::size_t>> now(lines_.size());
    for (std::size_t k = from; k < end; ++k)
        each(of.all[k].wires(), [&](int wire) { now[static_cast<std::size_t>(wire)].push_back(k); });
    for (std::size_t wire = 0; wire < now.size(); ++wire) {
        std::vector<std::size_t>& line = lines_[wire];
        const auto first = std::lower_bound(line.begin(), line.end(), from);
        line.insert(line.erase(first, std::lower_bound(first, line.end(), end)), now[wire].begin(), now[wire].end());
    }
}

}  // namespace qx::form
