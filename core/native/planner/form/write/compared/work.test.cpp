// Tests of how much work gates are counted to be.

#include "planner/form/write/compared/work.hpp"

#include "planner/form/naive.test.hpp"

using namespace qx::form;

namespace {

double work(const Gate& gate) { return work_of({gate}); }

}  // namespace

TEST_CASE("what mixes more wires is more work, conditions are less, and all add up") {
    Gate matrix{Gate::matrix, 0, 0b1};
    const double on_one = work(matrix);
    matrix.mask = 0b111;
    const double on_three = work(matrix);
    CHECK(on_three > 2 * on_one);
    matrix.num_conditions = 1;
    CHECK(2 * work(matrix) == on_three);
    matrix.num_conditions = 5;
    CHECK(4 * work(matrix) == on_three);
    CHECK(work({Gate::rotation, 0b1, 0}) < work({Gate::rotation, 0b11, 0}));
    CHECK(work({Gate::rotation, 0b11, 0}) < work({Gate::rotation, 0b11, 0b100}));
    CHECK(work({Gate::cx, 0, 0b1110}) == doctest::Approx(3 * work({Gate::cx, 0, 0b10})));
    CHECK(work_of({{Gate::h, 0, 0b11}, matrix}) == doctest::Approx(2 * work({Gate::h, 0, 0b1}) + work(matrix)));
    CHECK(work_of({}) == 0);
}
