// Tests of what turns may be off, each of them and all together.

#include "planner/form/gates/rounding.hpp"

#include "planner/form/naive.test.hpp"

using namespace qx::form;

TEST_CASE("turns are off until all of them together are off as much as what their circuit is rounded") {
    constexpr double tolerance = 1e-12, small = 4e-13;
    Rounding rounding = Rounding::of(tolerance, 10);
    double lost = 0;
    int kept = 0;
    for (int k = 0; k < 1000; ++k) {
        const SplitAngle split = rounding.split(small);
        lost += split.off, kept += split.rest != 0;
    }
    CHECK(lost <= tolerance + 10 * Rounding::of_one);
    CHECK(kept == 998);
    CHECK(rounding.split(Rounding::of_one).rest == 0);  // which stays so whatever there was
    for (int k = 0; k < 100; ++k) rounding.grow();
    CHECK(rounding.split(small).rest == 0);
    CHECK(!rounding.take(2 * tolerance));
}
