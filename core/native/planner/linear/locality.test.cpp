// Tests of which work runs with some directions near: what runs first leaves the state as it would be in the work's order.

#include "planner/linear/locality.hpp"

#include <numeric>

#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

constexpr int size = 5;

Numbers all_of(const FramedWork& work) {
    Numbers out(work.size());
    std::iota(out.begin(), out.end(), Index{0});
    return out;
}

bool lies_in(const FramedWork& work, Index number, const Span& near) {
    for (int k = 0; k < work[number].piece.num_mixed; ++k)
        if (!near.has(work.directions(work[number])[k])) return false;
    return true;
}

}  // namespace

TEST_CASE("work whose directions are near runs before what is left behind, and the state is the same") {
    for (unsigned seed = 0; seed < 150; ++seed) {
        Drawn drawn(seed, size);
        const FramedWork work(work_with_cx(drawn, 20), size, drawn.context, false);
        const Order order(work);
        const Span near({1 + drawn.mask() % 31, 1 + drawn.mask() % 31});
        Numbers ready, left;
        split(all_of(work), work, order, near, ready, left);
        CHECK(ready.size() + left.size() == work.size());
        State expected = drawn.state(), state = expected;
        for (std::size_t k = 0; k < work.size(); ++k)
            expected = framed(work, work[k], drawn.context, drawn.operands, expected);
        for (const Numbers* some : {&ready, &left})
            for (Index number : *some) {
                CHECK((some == &left || lies_in(work, number, near)));
                state = framed(work, work[number], drawn.context, drawn.operands, state);
            }
        CHECK(distance(state, expected) < near_enough);
    }
}

TEST_CASE("directions are chosen with which some work runs, and no more than asked for") {
    for (unsigned seed = 0; seed < 150; ++seed) {
        Drawn drawn(seed, size);
        const FramedWork work(work_with_cx(drawn, 20), size, drawn.context, false);
        if (!work.size()) continue;
        const Order order(work);
        for (int capacity = 1; capacity <= 3; ++capacity) {
            const LinearReasons reasons = linear_reasons(all_of(work), work, order, Span(), capacity);
            const Vectors chosen = choose(reasons, work, {}, capacity);
            CHECK(Span(chosen).size() <= capacity);
            Numbers ready, left;
            split(all_of(work), work, order, Span(chosen), ready, left);
            CHECK_FALSE(ready.empty());
        }
    }
}

TEST_CASE("reasons with nothing near tell those with some directions near") {
    constexpr int capacity = 4;
    for (unsigned seed = 0; seed < 150; ++seed) {
        Drawn drawn(seed, size);
        const FramedWork work(work_with_cx(drawn, 20), size, drawn.context, false);
        const Order order(work);
        const Span near({1 + drawn.mask() % 31, 1 + drawn.mask() % 31});
        const int room = capacity - near.size();
        const LinearReasons found = linear_reasons(all_of(work), work, order, Span(), capacity).beside(near, room);
        const LinearReasons expected = linear_reasons(all_of(work), work, order, near, room);
        CHECK(found.numbers == expected.numbers);
        CHECK(choose(found, work, near.vectors, room) == choose(expected, work, near.vectors, room));
        for (std::size_t k = 0; k < expected.of.size(); ++k) {
            const Index one = found.of[k], other = expected.of[k];
            CHECK((one == LinearReasons::wide) == (other == LinearReasons::wide));
            if (one == LinearReasons::wide || other == LinearReasons::wide) continue;
            CHECK(std::equal(found.spaces.begin(one), found.spaces.end(one), expected.spaces.begin(other),
                             expected.spaces.end(other)));
        }
    }
}
