// Tests of what draws shots and counts them, against sorting and searching with the standard library.

#include <doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/int.hpp"

using qx::Int;

extern "C" Int qx_shots_ascending(const double* numbers, Int count, Int* order);
extern "C" Int qx_shots_running_sums(const double* weights, Int size, double* ends);
extern "C" Int qx_shots_choose(const double* ends, Int size, const double* targets, Int count, Int* found, double* rest);
extern "C" Int qx_shots_count(const Int* values, Int size, Int* distinct, Int* counts);
extern "C" Int qx_distinct_rows(const std::uint8_t* rows, Int count, Int width, Int* places, Int* counts);

namespace {

std::vector<double> drawn(unsigned seed, std::size_t size) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> number(0, 1);
    std::vector<double> out(size);
    for (double& one : out) one = number(random);
    return out;
}

}  // namespace

TEST_CASE("shots_ascending orders numbers by their first 32 bits, equal ones as they come") {
    for (const std::size_t size : {0u, 1u, 2u, 1000u}) {
        std::vector<double> numbers = drawn(1, size);
        for (std::size_t k = 0; k + 1 < size; k += 3) numbers[k + 1] = numbers[k] + 0x1p-40;
        std::vector<Int> order(size), expected(size);
        std::iota(expected.begin(), expected.end(), 0);
        auto key = [&](Int k) { return static_cast<std::uint32_t>(numbers[static_cast<std::size_t>(k)] * 0x1p32); };
        std::stable_sort(expected.begin(), expected.end(), [&](Int a, Int b) { return key(a) < key(b); });
        qx_shots_ascending(numbers.data(), static_cast<Int>(size), order.data());
        CHECK(order == expected);
    }
}

TEST_CASE("a target falls on the first weight whose running sum is above it") {
    std::vector<double> weights = drawn(2, 200), ends(200), targets = drawn(3, 300);
    for (std::size_t k = 0; k < weights.size(); k += 7) weights[k] = 0;
    qx_shots_running_sums(weights.data(), 200, ends.data());
    for (std::size_t k = 0; k < ends.size(); ++k)
        CHECK(ends[k] == std::accumulate(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(k) + 1, 0.0));
    for (double& target : targets) target *= ends.back();
    targets[0] = 0, targets[1] = 2 * ends.back();  // beyond the last weight by rounding
    std::sort(targets.begin() + 100, targets.end());
    std::vector<Int> found(300);
    std::vector<double> rest(300);
    qx_shots_choose(ends.data(), 200, targets.data(), 300, found.data(), rest.data());
    for (std::size_t k = 0; k < targets.size(); ++k) {
        const double target = std::min(targets[k], std::nextafter(ends.back(), -1.0));
        const auto place = std::upper_bound(ends.begin(), ends.end(), target) - ends.begin();
        CHECK(found[k] == place);
        CHECK(weights[static_cast<std::size_t>(place)] > 0);
        CHECK(rest[k] == target - (place ? ends[static_cast<std::size_t>(place) - 1] : 0));
    }
}

TEST_CASE("counts are those of a table, in the order in which values come first") {
    std::mt19937 random(4);
    std::vector<Int> values(2000), distinct(2000), counts(2000), order;
    std::map<Int, Int> expected;
    for (Int& value : values) {
        value = static_cast<Int>(random() % 300) - 150;
        if (!expected[value]++) order.push_back(value);
    }
    const Int size = qx_shots_count(values.data(), 2000, distinct.data(), counts.data());
    REQUIRE(size == static_cast<Int>(order.size()));
    for (std::size_t k = 0; k < order.size(); ++k) {
        CHECK(distinct[k] == order[k]);
        CHECK(counts[k] == expected[order[k]]);
    }
}

TEST_CASE("rows that differ are found with their counts, for any width, and more than 1,024 are refused") {
    std::mt19937 random(5);
    for (const std::size_t width : {1u, 7u, 8u, 9u, 24u}) {
        std::string rows(500 * width, '\0');
        for (char& byte : rows) byte = static_cast<char>(random() % 4 == 0);
        std::map<std::string, std::pair<Int, Int>> expected;
        for (std::size_t k = 0; k < 500; ++k)
            ++expected.try_emplace(rows.substr(k * width, width), static_cast<Int>(k), 0).first->second.second;
        std::vector<Int> places(1024), counts(1024);
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(rows.data());
        const Int found = qx_distinct_rows(bytes, 500, static_cast<Int>(width), places.data(), counts.data());
        REQUIRE(found == static_cast<Int>(expected.size()));
        for (std::size_t k = 0; k < expected.size(); ++k) {
            const auto& [place, count] = expected[rows.substr(static_cast<std::size_t>(places[k]) * width, width)];
            CHECK(places[k] == place);
            CHECK(counts[k] == count);
        }
    }
    std::vector<std::uint16_t> many(1025);
    std::iota(many.begin(), many.end(), std::uint16_t{0});
    std::vector<Int> places(1024), counts(1024);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(many.data());
    CHECK(qx_distinct_rows(bytes, 1024, 2, places.data(), counts.data()) == 1024);
    CHECK(qx_distinct_rows(bytes, 1025, 2, places.data(), counts.data()) == -1);
}
