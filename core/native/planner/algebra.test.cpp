// Tests of linear algebra over GF(2), against sets of all vectors of a space.

#include "planner/algebra.hpp"

#include <doctest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

using namespace qx::plan;

namespace {

constexpr int size = 6;

// All sums of some vectors.
std::set<Mask> sums(const Vectors& vectors) {
    std::set<Mask> out{0};
    for (Mask vector : vectors) {
        const std::set<Mask> before = out;
        for (Mask other : before) out.insert(vector ^ other);
    }
    return out;
}

Vectors drawn(std::mt19937& random, std::size_t count) {
    Vectors out(count);
    for (Mask& vector : out) vector = random() & below(size);
    return out;
}

Map drawn_with_inverse(std::mt19937& random) {
    for (;;) {
        Map map = drawn(random, size);
        if (Span(map).size() == size) return map;
    }
}

}  // namespace

TEST_CASE("a span has exactly the sums of its vectors, and says of which") {
    std::mt19937 random(1);
    for (std::size_t run = 0; run < 100; ++run) {
        const Vectors vectors = drawn(random, run % 8);
        const Span span(vectors);
        const std::set<Mask> all = sums(vectors);
        CHECK((std::size_t{1} << span.size()) == all.size());
        for (Mask vector = 0; vector < unit(size); ++vector) {
            const Span::Reduced rest = span.reduced(vector);
            CHECK(span.has(vector) == (all.count(vector) == 1));
            CHECK(rest.left == span.left(vector));
            CHECK((rest.left ^ image(span.vectors, rest.made)) == vector);
            CHECK((rest.left & span.pivots()) == 0);
        }
    }
}

TEST_CASE("vectors of a span differ in its pivots") {
    std::mt19937 random(2);
    for (int run = 0; run < 50; ++run) {
        const Span span(drawn(random, 4));
        std::set<Mask> seen;
        for (Mask vector : sums(span.vectors)) CHECK(seen.insert(vector & span.pivots()).second);
    }
}

TEST_CASE("an inverse undoes its map") {
    std::mt19937 random(3);
    for (int run = 0; run < 50; ++run) {
        const Map map = drawn_with_inverse(random), back = inverse(map);
        for (Mask x = 0; x < unit(size); ++x) {
            CHECK(image(back, image(map, x)) == x);
            CHECK(image(map, image(back, x)) == x);
        }
    }
}

TEST_CASE("pulled_back reads of a vector what the parity reads of its image") {
    std::mt19937 random(4);
    for (int run = 0; run < 50; ++run) {
        const Map map = drawn(random, size);
        const Mask parity = random() & below(size);
        for (Mask x = 0; x < unit(size); ++x) CHECK(is_odd(pulled_back(map, parity) & x) == is_odd(parity & image(map, x)));
    }
}

TEST_CASE("a kernel spans exactly what a map makes 0") {
    std::mt19937 random(5);
    for (std::size_t run = 0; run < 60; ++run) {
        Map map = drawn(random, size);
        for (Mask& column : map) column &= below(static_cast<int>(run % 7));
        const Vectors found = kernel(map);
        CHECK(Span(found).size() == static_cast<int>(found.size()));
        std::set<Mask> expected;
        for (Mask x = 0; x < unit(size); ++x)
            if (!image(map, x)) expected.insert(x);
        CHECK(sums(found) == expected);
    }
}

TEST_CASE("common spans exactly the vectors that both spaces have") {
    std::mt19937 random(6);
    for (std::size_t run = 0; run < 60; ++run) {
        const Vectors one = Span(drawn(random, run % 6)).vectors, other = Span(drawn(random, run % 5)).vectors;
        const std::set<Mask> left = sums(one), right = sums(other);
        std::set<Mask> both;
        for (Mask vector : left)
            if (right.count(vector)) both.insert(vector);
        CHECK(sums(common(one, other)) == both);
    }
}

TEST_CASE("the reduced basis of a space does not depend on the vectors that span it") {
    std::mt19937 random(7);
    for (int run = 0; run < 60; ++run) {
        Vectors vectors = drawn(random, 4);
        Basis one, other;
        for (Mask vector : vectors) one.add(vector);
        for (std::size_t k = 1; k < vectors.size(); ++k) vectors[k] ^= vectors[k - 1];
        for (std::size_t k = vectors.size(); k-- > 0;) other.add(vectors[k]);
        CHECK(Vectors(one.begin(), one.end()) == Vectors(other.begin(), other.end()));
        CHECK(std::is_sorted(one.begin(), one.end(), std::greater<>()));
        CHECK(sums({one.begin(), one.end()}) == sums(vectors));
        for (Mask x = 0; x < unit(size); ++x) CHECK((one.left(x) == 0) == (sums(vectors).count(x) == 1));
    }
}
