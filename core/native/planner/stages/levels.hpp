// The memories above the tile, and what moves between them: qsim_ex.steps.Levels and the motions of qsim_ex.steps.plan.
#pragma once

#include <utility>
#include <vector>

#include "base/masks.hpp"

namespace qx::plan {

// Some device bits whose links have the same rate, in bytes per second.
struct Layer {
    int bits;
    double rate;
};

// How the index bits are divided: `local` bits of a sub state vector, `peers` device bits, migration bits, and `ranks`.
struct Levels {
    int local, peers, slice, ranks;
    bool mesh;  // whether each pair of devices has a link of its own
    std::vector<Layer> layers;

    int migration(int num_bits) const { return num_bits - local - peers - ranks; }
    // The number of the layer of a device position, 0 for the nearest.
    int layer_of(int position) const {
        int last = local;
        for (std::size_t number = 0; number < layers.size(); ++number)
            if (position < (last += layers[number].bits)) return static_cast<int>(number);
        return 0;
    }
};

using Pairs = std::vector<std::pair<int, int>>;

// What happens before a stage. swaps: pairs of positions that change places. bits: of a migration the index bit at home of
// each position.
struct Motion {
    enum Kind : Int { none, exchange, migration };
    Kind kind = none;
    Pairs swaps;
    std::vector<int> bits;
};

// A stage: the end of its steps, the motion before them, and the positions that are fresh between.
struct StageRow {
    std::size_t end;
    Motion motion;
    Mask fresh;
};

}  // namespace qx::plan
