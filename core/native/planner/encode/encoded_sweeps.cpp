// The sweeps of a plan as the kernels interpret them, one behind the other.

#include "planner/encode/encoded_sweeps.hpp"

namespace qx::plan {

namespace {

constexpr std::size_t large = 1 << 14;  // items; what is reserved for them and not used takes no memory

}  // namespace

void EncodedSweeps::reserve(std::size_t items, std::size_t steps) {
    if (items < large) return;
    instructions.reserve(3 * items), fills.reserve(3 * items);
    integers.reserve(16 * items + 256 * steps);
}

void EncodedSweeps::finish() {
    SweepEnd begin{};
    for (std::size_t k = 0; k < ends.size(); ++k) {
        const SweepEnd& end = ends[k];
        programs.push_back({instructions.data() + begin.instructions, end.instructions - begin.instructions,
                            fills.data() + begin.fills, end.fills - begin.fills, codes.data(),
                            integers.data() + begin.integers, &geometry[k], end.coefficients});
        begin = end;
    }
}

std::size_t EncodedSweeps::bytes() const {
    auto of = [](const auto& values) { return values.size() * sizeof values[0]; };
    return of(instructions) + of(fills) + of(codes) + of(integers) + of(geometry) + of(ends) + of(programs);
}

}  // namespace qx::plan
