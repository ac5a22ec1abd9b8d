// Where rows are while a sweep runs: a CX between bits of a tile moves no amplitudes, only the frame.
//
// A row has positions, each with an index bit, and a number, which says where it lies in the tile. Both are bits, and the
// frame is an affine map over GF(2) between them. A CX adds its control to its target's bits of the number, to its index
// bits outside the tile, and to its inversion. So instructions run over other rows, and the tile is stored at other places.
#pragma once

#include <vector>

#include "base/masks.hpp"

namespace qx::plan {

// A row has positions and a number; position k is the parity of the bits of the number in parities[k], of the index bits
// in outside[k], and inverted if it is in `flips`. columns[k]: the bits of the number that flip with it.
class RowFrame {
  public:
    void begin(std::size_t size) {
        columns.resize(size), parities.resize(size), outside.assign(size, 0);
        for (std::size_t k = 0; k < size; ++k) columns[k] = parities[k] = unit(static_cast<int>(k));
        flips = 0, moved = false;
    }

    // Adds one position to another; a control at 0 inverts the target, too.
    void cx(int control, int target, bool value) {
        moved = true;
        columns[at(control)] ^= columns[at(target)];
        parities[at(target)] ^= parities[at(control)];
        outside[at(target)] ^= outside[at(control)];
        flips ^= ((flips >> control & 1) ^ !value) << target;
    }

    // Adds an index bit outside the tile to a position.
    void cx_outside(int control, int target, bool value) {
        moved = true;
        outside[at(target)] ^= unit(control);
        flips ^= Mask{!value} << target;
    }

    Mask row(Mask values) const { return direction(values ^ flips); }

    Mask direction(Mask positions) const {
        Mask out = 0;
        each(positions, [&](int position) { out ^= columns[at(position)]; });
        return out;
    }

    // By what rows differ that follow each other when some positions are counted up: sums of the first vectors of a basis.
    void steps(Mask free, Int row_bytes, std::vector<Int>& out) const {
        Mask reduced[64] = {}, total = 0;
        each(free, [&](int position) {
            Mask column = columns[at(position)];
            while (reduced[highest(column)]) column ^= reduced[highest(column)];
            reduced[highest(column)] = column;
        });
        for (Mask column : reduced)
            if (column) out.push_back(row_bytes * static_cast<Int>(total ^= column));
    }

    // For each bit of the number the index bits outside the tile that flip it; nothing if none does.
    void origin(std::vector<Int>& out) const {
        Mask any = 0;
        for (Mask mask : outside) any |= mask;
        if (!any) return;
        out.resize(columns.size());
        for (std::size_t k = 0; k < columns.size(); ++k)
            each(columns[k], [&](int bit) { out[at(bit)] ^= static_cast<Int>(outside[k]); });
    }

    std::vector<Mask> columns, parities, outside;
    Mask flips = 0;
    bool moved = false;  // whether there was a CX

  private:
    static std::size_t at(int position) { return static_cast<std::size_t>(position); }
};

}  // namespace qx::plan
