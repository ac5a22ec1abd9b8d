// Tests of byte strings that are kept once, of tables from keys to numbers, and of sorting, against the standard library.

#include "base/interned.hpp"

#include <doctest.h>

#include <map>
#include <random>
#include <string>

#include "base/sorting.hpp"

using namespace qx::plan;

TEST_CASE("a memo gives each key its own value, and keeps it while it grows") {
    std::mt19937_64 random(1);
    Memo memo;
    std::map<std::uint64_t, Index> expected;
    for (Index k = 0; k < 5000; ++k) {
        const std::uint64_t key = random() % 3000 << (k % 40);
        Index& value = memo[key];
        const auto known = expected.find(key);
        CHECK(value == (known == expected.end() ? Memo::none : known->second));
        value = expected[key] = k;
    }
    for (const auto& [key, value] : expected) CHECK(memo[key] == value);
}

TEST_CASE("equal bytes have one number, which counts up, and come back as they were") {
    std::mt19937 random(2);
    Interned all;
    std::map<std::string, Index> expected;
    for (int k = 0; k < 3000; ++k) {
        std::string bytes(random() % 20, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random() % 3);
        const Index number = all.of(bytes);
        const auto [known, is_new] = expected.emplace(bytes, static_cast<Index>(expected.size()));
        CHECK(number == known->second);
        CHECK(all.size() == expected.size());
    }
    for (const auto& [bytes, number] : expected) CHECK(all[number] == bytes);
}

TEST_CASE("bytes that differ in their length alone differ") {
    Interned all;
    for (std::size_t size = 0; size < 20; ++size) CHECK(all.of(std::string(size, '\0')) == size);
    CHECK(all[0].empty());
}

TEST_CASE("sort_stably sorts, and keeps equal values in their order") {
    std::mt19937 random(3);
    for (std::size_t size : {0u, 1u, 2u, 50u, 300u}) {
        std::vector<std::pair<unsigned, std::size_t>> values;
        for (std::size_t k = 0; k < size; ++k) values.emplace_back(random() % 7, k);
        auto expected = values;
        std::stable_sort(expected.begin(), expected.end(), [](auto& a, auto& b) { return a.first > b.first; });
        sort_stably(values, [](auto& a, auto& b) { return a.first > b.first; });
        CHECK(values == expected);
    }
}
