// Where readers write the gates that they find, for tests.
#pragma once

#include <array>
#include <vector>

#include "readers/read_gates.hpp"

namespace qx {

struct FoundGates {
    explicit FoundGates(std::size_t size)
        : numbers(size), keys(size), parameters(16), starts(size + 1), others(size), other_wires(size), measured(size),
          arrays{numbers.data(),
                 keys.data(),
                 parameters.data(),
                 starts.data(),
                 others.data(),
                 other_wires.data(),
                 reinterpret_cast<Int (*)[3]>(measured.data()),
                 0,
                 0,
                 0} {}

    std::vector<plan::Index> numbers;
    std::vector<std::uint64_t> keys;
    std::vector<double> parameters;
    std::vector<Int> starts, others;
    std::vector<std::uint64_t> other_wires;
    std::vector<std::array<Int, 3>> measured;
    Arrays arrays;
    Int status = 0;
};

}  // namespace qx
