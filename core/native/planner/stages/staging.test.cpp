// Tests of the steps of stages: bits that change places in memory, and that more candidates are made where they may be.

#include "planner/stages/staging.hpp"

#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

CandidatePlan candidate_of(Drawn& drawn, std::vector<Piece> work) {
    for (std::size_t k = 0; k < work.size(); ++k) work[k].order = static_cast<Index>(k);
    return {std::make_unique<PlanContext>(drawn.context),
            CoefficientProgram(static_cast<qx::Int>(drawn.operands.size())),
            std::move(work),
            {},
            {}};
}

// Where an amplitude goes in a step that permutes the values of some positions.
Mask after(const Step& step, const PlanContext& context, Mask index) {
    Mask value = 0, out = index;
    for (qx::Int k = 0; k < step.num_bits; ++k) {
        const Mask position = context.words[static_cast<std::size_t>(step.words + k)];
        if (index & position) value |= unit(static_cast<int>(k));
    }
    const Mask to = context.values[static_cast<std::size_t>(step.to) + value];
    for (qx::Int k = 0; k < step.num_bits; ++k) {
        const Mask position = context.words[static_cast<std::size_t>(step.words + k)];
        out = to >> k & 1 ? out | position : out & ~position;
    }
    return out;
}

}  // namespace

TEST_CASE("bits that have to leave the slice change places with others in memory, whatever number of them") {
    constexpr int size = 14;
    const Shape shape{};
    for (int pairs = 1; pairs <= 7; ++pairs) {
        Drawn drawn(1, size);
        const Levels levels{size, 0, 7, 0, false, {}};
        Division division;
        division.low = below(7);
        StageWork room;
        for (int k = 0; k < pairs; ++k) room.swaps.push_back({7 + k, (3 * k + 1) % 7});
        division.passes.push_back({room});
        StageAttempt attempt(candidate_of(drawn, {}), division, {}, size, levels, shape, 0);
        const std::vector<int> before = attempt.positions.at;
        Progress progress = Progress::busy;
        while ((progress = attempt.advance()) == Progress::busy) {
        }
        REQUIRE(progress == Progress::done);
        const std::vector<int>& places = attempt.positions.at;
        for (auto [high, low] : room.swaps) {
            CHECK(places[static_cast<std::size_t>(high)] == before[static_cast<std::size_t>(low)]);
            CHECK(places[static_cast<std::size_t>(low)] == before[static_cast<std::size_t>(high)]);
        }
        for (int draw = 0; draw < 50; ++draw) {
            const Mask index = drawn.mask();
            Mask found = index, expected = 0;
            for (const Step& step : attempt.steps.steps) {
                REQUIRE(step.type == Step::basis_permutation);
                found = after(step, *attempt.candidate.context, found);
            }
            for (std::size_t bit = 0; bit < size; ++bit) expected |= (index >> before[bit] & 1) << places[bit];
            CHECK(found == expected);
        }
    }
}

TEST_CASE("a plan with far parities is taken if it is faster, also where it saves a single motion") {
    constexpr int size = 7;
    const Levels levels{4, 3, 1, 0, false, {{3, 1e9}}};
    const Rates rates{2e12, 3e13, 0.2, 1e9, 5e10, 5e10, 1e11, 1e11, 0, 0};
    Shape shape{};
    shape.tile = 3, shape.registers = 2, shape.low = 1, shape.dense = 2, shape.start = 2, shape.fewer = 1;
    shape.balance = 60, shape.counted = 60, shape.scattered = 1;
    int taken = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        Drawn drawn(seed, size);
        std::vector<Piece> work = work_with_cx(drawn, 4 + static_cast<int>(seed % 9));
        for (Piece& piece : work) piece.work = 1;
        Dividing dividing(work, size, levels, shape, 0, {});
        while (dividing.divider.advance() == Divider::State::busy) {
        }
        const int most = motions(dividing.divider.take(), size, levels, 0) - 1;
        const auto seconds_with = [&](int parities, bool& far) {
            Staging staging(candidate_of(drawn, work), size, levels, shape, 0, {}, rates, false, parities);
            Progress progress = Progress::busy;
            while ((progress = staging.advance()) == Progress::busy) {
            }
            REQUIRE(progress == Progress::done);
            StageAttempt& made = staging.made();
            far = !made.renamed.at.empty();
            return seconds(made.stages,
                           stage_costs(made.stages, made.steps, *made.candidate.context, size, levels, shape, rates));
        };
        bool far = false;
        const double on_bits = seconds_with(0, far);
        CHECK_FALSE(far);
        const double on_parities = most > 0 ? seconds_with(most, far) : on_bits, found = seconds_with(-1, far);
        CHECK(found <= std::min(on_bits, on_parities));
        taken += far;
    }
    CHECK(taken > 5);
}

TEST_CASE("several plans of a long run are compared, and one alone is made where a rule says so") {
    constexpr int size = 33;
    double seconds_of[2];
    int rounds[2] = {};
    for (const bool several : {false, true}) {
        Drawn drawn(2, size);
        std::vector<Piece> work;
        for (int k = 0; k < 80; ++k)
            work.push_back(k % 3 ? drawn.cx(drawn.other(k % size), k % size) : drawn.turn(drawn.bit()));
        for (Piece& piece : work) piece.work = 4;
        Shape shape{};
        shape.tile = 12, shape.registers = 4, shape.low = 4, shape.dense = 4, shape.start = 20, shape.fewer = 4;
        shape.balance = 60, shape.counted = 60, shape.scattered = 1;
        if (!several) shape.rules = Rules(unit(static_cast<int>(Rule::candidates)));
        const Levels levels{31, 2, 4, 0, false, {{2, 4e11}}};
        const Rates rates{2e12, 3e13, 0.2, 4e11, 5e10, 5e10, 1e11, 1e11, 4e-6, 1e-5};
        Staging staging(candidate_of(drawn, work), size, levels, shape, below(size), {below(4) << 8}, rates, false, 0);
        while (staging.advance() == Progress::busy) ++rounds[several];
        StageAttempt& made = staging.made();
        seconds_of[several] =
            seconds(made.stages, stage_costs(made.stages, made.steps, *made.candidate.context, size, levels, shape, rates));
    }
    CHECK(rounds[true] > 2 * rounds[false]);
    CHECK(seconds_of[true] <= seconds_of[false]);
}
