// Sweeps that Python made, read from its arrays.

#include <span>

#include "base/export.hpp"
#include "base/owned.hpp"
#include "planner/steps.hpp"

namespace {

using namespace qx::plan;

// The next array of `given`, which has the address and the length of each.
template <class Value>
std::span<const Value> next(const qx::Int*& given) {
    const auto* begin = reinterpret_cast<const Value*>(given[0]);
    const auto size = static_cast<std::size_t>(given[1]);
    given += 2;
    return {begin, size};
}

template <class Value>
void read(std::vector<Value>& into, const qx::Int*& given) {
    std::span<const Value> array = next<Value>(given);
    into.assign(array.begin(), array.end());
}

PlanSteps* read(const qx::Int* given) {
    auto* made = new PlanSteps{{}, std::make_unique<PlanContext>()};
    read(made->steps.steps, given), read(made->steps.register_blocks, given), read(made->steps.items, given);
    read(made->context->words, given), read(made->context->values, given);
    const auto bytes = next<char>(given);
    std::vector<Index> numbers;  // of the patterns, by which items know them
    std::size_t begin = 0;
    for (std::uint64_t end : next<std::uint64_t>(given)) {
        numbers.push_back(made->context->patterns.of({bytes.data() + begin, end - begin}));
        begin = end;
    }
    for (Item& item : made->steps.items) item.pattern = numbers[static_cast<std::size_t>(item.pattern)];
    return made;
}

}  // namespace

// Returns sweeps whose rows stand in arrays; see qsim_ex.steps.sweep_arrays for their order. given: the address and the
// number of rows of each. steps: becomes the address of the `PlanSteps`.
QX_EXPORT(sweeps_read, (const qx::Int* given, qx::Int* steps)) {
    return qx::Owned<PlanSteps>::make([&] {
        PlanSteps* made = read(given);
        *steps = reinterpret_cast<qx::Int>(made);
        return made;
    });
}

QX_EXPORT(sweeps_free, (qx::Int sweeps)) {
    qx::Owned<PlanSteps>::drop(sweeps);
    return 0;
}
