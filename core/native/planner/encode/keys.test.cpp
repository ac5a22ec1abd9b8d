// Tests of the keys of sweeps: equal for equal sweeps, and different wherever a sweep differs.

#include <doctest.h>

#include "planner/naive.test.hpp"
#include "planner/steps.hpp"

using qx::Int;
using namespace qx::plan;
using namespace qx::plan::naive;

extern "C" Int qx_plan_keys(Int steps, Int* out);
extern "C" Int qx_plan_free_keys(Int keys);

namespace {

// A plan of one sweep, with a matrix, phases and a permutation in one register block.
PlanSteps plan_of() {
    Drawn drawn(1, 6);
    const std::vector<Piece> work{drawn.turn(2), drawn.phases(any_phase), drawn.x(1)};
    PlanSteps plan{{}, std::make_unique<PlanContext>(drawn.context)};
    for (const Piece& piece : work)
        plan.steps.items.push_back({static_cast<Int>(piece.kind), piece.num_mixed, piece.num_reads, piece.words, 0, 0,
                                    static_cast<Int>(piece.pattern), 1, 2, static_cast<Int>(piece.to), 0});
    plan.steps.register_blocks.push_back({0b111, 0, 3});
    Step step{};
    step.type = Step::sweep, step.tile = 0b11111, step.end = 1, step.numbers = 3, step.tables = 4;
    step.words = static_cast<Int>(plan.context->words.size()), step.num_bits = 2;
    step.loads = step.words + 2, step.num_loads = 2;
    plan.context->words.insert(plan.context->words.end(), {1, 2, 4, 8});
    plan.steps.steps.push_back(step);
    return plan;
}

std::vector<Int> key_of(const PlanSteps& plan) {
    Int out[4];
    const Int keys = qx_plan_keys(reinterpret_cast<Int>(&plan), out);
    const auto* words = reinterpret_cast<const Int*>(out[0]);
    const std::vector<Int> found(words, words + out[1]);
    CHECK(out[3] == 1);
    CHECK(*reinterpret_cast<const Int*>(out[2]) == out[1]);
    qx_plan_free_keys(keys);
    return found;
}

}  // namespace

TEST_CASE("sweeps have equal keys if they are equal but for labels, and different ones if any field differs") {
    const std::vector<Int> key = key_of(plan_of());
    PlanSteps labelled = plan_of();
    labelled.steps.steps[0].label = labelled.steps.items[0].label = 7;
    CHECK(key_of(labelled) == key);
    for (Int Step::* const field : {&Step::tile, &Step::fresh, &Step::numbers, &Step::tables}) {
        PlanSteps other = plan_of();
        other.steps.steps[0].*field ^= 32;
        CHECK(key_of(other) != key);
    }
    for (std::size_t word = 0; word < 4; ++word) {  // the columns by which it is written and read
        PlanSteps other = plan_of();
        other.context->words[static_cast<std::size_t>(other.steps.steps[0].words) + word] ^= 16;
        CHECK(key_of(other) != key);
    }
    for (std::size_t item = 0; item < 3; ++item) {
        for (Int Item::* const field : {&Item::when_mask, &Item::when_value}) {
            PlanSteps other = plan_of();
            other.steps.items[item].*field ^= 32;
            CHECK(key_of(other) != key);
        }
        const PlanSteps usual = plan_of();
        const Item& of = usual.steps.items[item];
        const Int reads = of.words + 2 * of.num_bits;
        for (Int word = of.words; word < reads + of.num_reads; ++word) {
            if (word >= of.words + of.num_bits && word < reads) continue;  // parities, which are the directions on bits
            PlanSteps other = plan_of();
            other.context->words[static_cast<std::size_t>(word)] ^= 32;
            CHECK(key_of(other) != key);
        }
    }
    PlanSteps mixed = plan_of();
    mixed.steps.items[0].slot = 5;
    CHECK(key_of(mixed) != key);
    PlanSteps moved = plan_of();
    std::swap(moved.context->values[static_cast<std::size_t>(moved.steps.items[2].to)],
              moved.context->values[static_cast<std::size_t>(moved.steps.items[2].to) + 1]);
    CHECK(key_of(moved) != key);
}
