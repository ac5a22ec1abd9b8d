// Tests of the order in which numbers are computed: each before the first launch that takes it, and none that nobody takes.

#include "planner/encode/launches/number_schedule.hpp"

#include <complex>
#include <set>

#include "planner/naive.test.hpp"

using namespace qx::plan;

namespace {

using Number = std::complex<double>;

// Runs the words of products and entries on numbers; returns the places that were made.
std::set<std::int32_t> run(const RunWords& out, std::size_t from, std::vector<Number>& numbers) {
    std::set<std::int32_t> made;
    for (std::size_t at = from; at < out.words.size();) {
        const qx::Int* word = out.words.data() + at;
        if (word[0] == qx::entry_word) {
            Number value = 1;
            for (qx::Int k = 0; k < word[3]; ++k)
                value *= numbers[static_cast<std::size_t>(out.places[static_cast<std::size_t>(word[2] + k)])];
            numbers[static_cast<std::size_t>(word[1])] = value;
            made.insert(static_cast<std::int32_t>(word[1])), at += 4;
            continue;
        }
        REQUIRE(word[0] == qx::products_word);
        const std::int32_t* place = out.places.data() + word[1];
        for (qx::Int k = 0; k < word[2]; ++k, place += 1 + 2 * word[3]) {
            Number sum = 0;
            for (qx::Int term = 0; term < word[3]; ++term)
                sum += numbers[static_cast<std::size_t>(place[1 + 2 * term])] *
                       numbers[static_cast<std::size_t>(place[2 + 2 * term])];
            numbers[static_cast<std::size_t>(place[0])] = sum, made.insert(place[0]);
        }
        at += 4;
    }
    return made;
}

}  // namespace

TEST_CASE("numbers are computed right before the first launch that takes them, and what nobody takes never") {
    // Operands 0, 1 and the entries 2 … 9 of two 2×2 matrices; their products 10 … 13 and 14 … 17; a table of two entries.
    const std::vector<Index> places = {2,  3, 4, 5, 6, 7, 8, 9, 6, 7, 8, 9, 2, 3, 4, 5,  // two products
                                       10, 3};                                          // the factors of a table
    const CoefficientArrays numbers{
        {{Instruction::product, 2, 1, 2, 2, 0, 0, 0, 0}, {Instruction::fold, 1, 0, 0, 0, 2, 2, 16, 0}}, places, {1, 3}, {}};
    const qx::Int launches = 3, size = 20;
    std::vector<qx::Int> first(size + 2, launches);
    first[15] = 0, first[19] = 1, first[11] = 2;  // by launch 0 an entry of the second product, by launch 1 one of the table
    RunWords out;
    out.places = {10, 3};
    NumberSchedule schedule(numbers, 10, first, launches, {{19, 0, 2}}, out);
    std::vector<Number> values(size + 2);
    for (std::size_t k = 0; k < 10; ++k)
        values[k] = k < 2 ? Number(static_cast<double>(k)) : Number(0.1 * static_cast<double>(k), 1.0);
    const auto product = [&](std::size_t left, std::size_t right, std::size_t i, std::size_t j) {
        return values[left + 2 * i] * values[right + j] + values[left + 2 * i + 1] * values[right + 2 + j];
    };
    const std::set<std::int32_t> expected[] = {{15}, {10, 19}, {11}};
    for (qx::Int launch = 0; launch < launches; ++launch) {
        const std::size_t from = out.words.size();
        schedule.before(launch);
        CHECK(run(out, from, values) == expected[launch]);
    }
    CHECK(std::abs(values[15] - product(6, 2, 0, 1)) < 1e-15);
    CHECK(std::abs(values[19] - product(2, 6, 0, 0) * values[3]) < 1e-15);
    CHECK(std::abs(values[11] - product(2, 6, 0, 1)) < 1e-15);
}
