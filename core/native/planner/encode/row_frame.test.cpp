// Tests of the frame of rows: each question about a row has the answer of CX that are applied one by one.

#include "planner/encode/row_frame.hpp"

#include <doctest.h>

#include <random>
#include <set>

using namespace qx;
using namespace qx::plan;

namespace {

constexpr int size = 5, outside = 4;  // positions, and index bits outside the tile

// A CX; a control from `size` up is an index bit outside the tile.
struct Cx {
    int control, target;
    bool value;
};

struct Moved {
    RowFrame frame;
    std::vector<Cx> done;

    explicit Moved(std::mt19937& random) {
        frame.begin(size);
        for (int left = static_cast<int>(random() % 30); left > 0; --left) {
            const Cx cx{static_cast<int>(random() % (size + outside)), static_cast<int>(random() % size), random() % 2 == 1};
            if (cx.control == cx.target) continue;
            if (cx.control < size) {
                frame.cx(cx.control, cx.target, cx.value);
            } else {
                frame.cx_outside(cx.control - size, cx.target, cx.value);
            }
            done.push_back(cx);
        }
    }

    // The positions of the row that began with a number, in the tile at some index: the definition.
    Mask positions(Mask number, Mask index) const {
        for (const Cx& cx : done) {
            const Mask seen = cx.control < size ? number >> cx.control & 1 : index >> (cx.control - size) & 1;
            number ^= Mask{seen == Mask{cx.value}} << cx.target;
        }
        return number;
    }
};

Mask parity(Mask mask) { return static_cast<Mask>(count(mask) & 1); }

template <class Act>
void for_all(Mask numbers, Act act) {
    for (Mask number = 0; number < numbers; ++number) act(number);
}

}  // namespace

TEST_CASE("a row with some positions has the number at which they are found, in every tile") {
    std::mt19937 random(1);
    for (int run = 0; run < 60; ++run) {
        const Moved moved(random);
        std::vector<Int> origin;
        moved.frame.origin(origin);
        origin.resize(size);
        for_all(unit(outside), [&](Mask index) {
            Mask added = 0;
            for (std::size_t bit = 0; bit < size; ++bit) added |= parity(static_cast<Mask>(origin[bit]) & index) << bit;
            for_all(unit(size),
                    [&](Mask values) { CHECK(moved.positions(moved.frame.row(values) ^ added, index) == values); });
        });
    }
}

TEST_CASE("a position is a sum of bits of the number, of index bits outside the tile, and a constant") {
    std::mt19937 random(2);
    for (int run = 0; run < 60; ++run) {
        const Moved moved(random);
        for_all(unit(outside), [&](Mask index) {
            for_all(unit(size), [&](Mask number) {
                Mask found = moved.frame.flips;
                for (std::size_t k = 0; k < size; ++k)
                    found ^= parity(moved.frame.parities[k] & number) << k ^ parity(moved.frame.outside[k] & index) << k;
                CHECK(found == moved.positions(number, index));
            });
        });
    }
}

TEST_CASE("counting up by the steps goes once through all rows that differ in free positions alone") {
    std::mt19937 random(3);
    constexpr Int row_bytes = 64;
    for (int run = 0; run < 60; ++run) {
        const Moved moved(random);
        for_all(unit(size), [&](Mask free) {
            std::vector<Int> steps;
            moved.frame.steps(free, row_bytes, steps);
            REQUIRE(static_cast<int>(steps.size()) == count(free));
            std::set<Mask> rows{0}, wanted;
            Mask row = 0;
            for (Mask k = 1; k < unit(count(free)); ++k)
                rows.insert(row ^= static_cast<Mask>(steps[static_cast<std::size_t>(lowest(k))] / row_bytes));
            for_all(unit(size), [&](Mask values) { wanted.insert(moved.frame.direction(free & values)); });
            CHECK(rows == wanted);
            CHECK(static_cast<int>(rows.size()) == 1 << count(free));
        });
    }
}
