// Tests of the host's part of a run on a GPU: what instructions compute, and which launches a driver gets.

#include <doctest.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/run_words.hpp"

using namespace qx;
using Number = std::complex<double>;
using Driver = int (*)(Int, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Int, Int, Int);

extern "C" Int qx_enqueue(Driver driver, Int stream, Int state, Int tables, Int first, Int most, Int* position,
                          const Number* operands, const Int* words, const std::int32_t* places, double* room);

namespace {

constexpr Int slots = 200, stream = 77, state_at = 1000, tables_at = 2000;  // slots: where arguments are laid out

// A launch as the driver gets it, with the values of its first arguments.
struct Launched {
    Int kernel;
    unsigned blocks, threads;
    std::vector<Int> values;
    Int fourth_at;  // where the value of the fourth is, which may be a struct
};

std::vector<Launched> launches;
std::size_t arguments = 0, failing = ~std::size_t{0};

int launch(Int kernel, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned, unsigned shared, Int on,
           Int pointers, Int more) {
    CHECK(y * z == 1);
    CHECK((shared == 0 && on == stream && more == 0));
    if (launches.size() == failing) return 700;
    Launched made{kernel, x, threads, {}, 0};
    const auto* at = reinterpret_cast<const Int*>(pointers);
    for (std::size_t k = 0; k < arguments; ++k) made.values.push_back(*reinterpret_cast<const Int*>(at[k]));
    if (arguments > 3) made.fourth_at = at[3];
    launches.push_back(made);
    return 0;
}

struct Run {
    std::vector<Int> words{slots};
    std::vector<std::int32_t> places;
    std::vector<double> room = std::vector<double>(400, 9.0);  // of an earlier run

    void add(const std::vector<Int>& more) { words.insert(words.end(), more.begin(), more.end()); }
    Int at(const std::vector<std::int32_t>& more) {
        places.insert(places.end(), more.begin(), more.end());
        return static_cast<Int>(places.size() - more.size());
    }
    Int go(const std::vector<Number>& operands, Int first, Int most, Int& position) {
        std::vector<Int> padded = words;
        padded.insert(padded.end(), longest_word, end_word);
        return qx_enqueue(launch, stream, state_at, tables_at, first, most, &position, operands.data(), padded.data(),
                          places.data(), room.data());
    }
    Number number(std::size_t k) const { return {room[2 * k], room[2 * k + 1]}; }
};

const std::vector<Number> operands{0, 1, {2, 3}, {-1, 0.5}, {0.25, -4}};

}  // namespace

TEST_CASE("numbers are the operands, sums of products of two, products of several, and rows of the unit matrix mixed") {
    Run run;
    run.add({operands_word, 5});
    run.add({products_word, run.at({5, 2, 3, 4, 4, 6, 5, 2, 1, 3}), 2, 2});  // the second takes the first
    run.add({entry_word, 7, run.at({2, 3, 4}), 3});
    // Two rows from 8 on: a matrix of operands 2, 0 and 3, 4 times rows 5 and 0 of the unit matrix; then times these again.
    run.add({rows_word, run.at({8, 2, 0, 3, 4, -6, -1, 40, 1, 2, 2, 0, 8, 24}), 2, 2, 1});
    run.add({end_word});
    Int position = 0;
    CHECK(run.go(operands, 0, 10, position) == 0);
    CHECK(position == 0);
    const Number a = operands[2], b = operands[3], c = operands[4], sum = a * b + c * c;
    for (std::size_t k = 0; k < 5; ++k) CHECK(run.number(k) == operands[k]);
    CHECK(std::abs(run.number(5) - sum) < 1e-12);
    CHECK(std::abs(run.number(6) - (sum * a + b)) < 1e-12);
    CHECK(std::abs(run.number(7) - a * b * c) < 1e-12);
    for (std::size_t j = 0; j < 16; ++j) {
        const Number first = j == 5 ? a : Number(0), second = j == 5 ? b : j == 0 ? c : Number(0);
        CHECK(run.number(8 + j) == first);
        CHECK(run.number(24 + j) == second);
        CHECK(std::abs(run.number(40 + j) - (first + a * second)) < 1e-12);
        CHECK(std::abs(run.number(56 + j) - a * first) < 1e-12);
    }
}

TEST_CASE("real numbers are taken in double and in single precision to where they belong, and nothing beside them changes") {
    Run run;
    run.room[102] = run.room[108] = -5;
    const Int taken = run.at({8, 5, 7, 4, 9});
    run.add({operands_word, 5});
    run.add({take_word, taken, 5, 103});
    run.add({take_single_word, taken, 5, 240});
    run.add({end_word});
    const float before = -6, after = -7;
    std::memcpy(reinterpret_cast<char*>(run.room.data()) + 4 * 239, &before, sizeof before);
    std::memcpy(reinterpret_cast<char*>(run.room.data()) + 4 * 245, &after, sizeof after);
    Int position = 0;
    CHECK(run.go(operands, 0, 10, position) == 0);
    const double expected[] = {0.25, 3, 0.5, 2, -4};
    float singles[7];
    std::memcpy(singles, reinterpret_cast<const char*>(run.room.data()) + 4 * 239, sizeof singles);
    for (std::size_t k = 0; k < 5; ++k) {
        CHECK(run.room[103 + k] == expected[k]);
        CHECK(static_cast<double>(singles[k + 1]) == expected[k]);
    }
    CHECK((run.room[102] == -5 && run.room[108] == -5));
    CHECK((singles[0] == before && singles[6] == after));
}

TEST_CASE("a launch gets plain numbers, addresses in the state and in tables, and pointers to structs") {
    Run run;
    Int kept = 11;
    run.room[150] = 0.75;
    run.add({launch_word, 42, 6, 128, 5, plain_argument, 7, state_argument, 8, tables_argument, 9, struct_argument, 8 * 150,
             kept_argument, reinterpret_cast<Int>(&kept)});
    run.add({end_word});
    launches.clear(), arguments = 5;
    Int position = 0;
    CHECK(run.go(operands, 0, 10, position) == 0);
    REQUIRE(launches.size() == 1);
    const Launched& one = launches[0];
    CHECK((one.kernel == 42 && one.blocks == 6 && one.threads == 128));
    CHECK(one.values[0] == 7);
    CHECK(one.values[1] == state_at + 8);
    CHECK(one.values[2] == tables_at + 9);
    CHECK(one.fourth_at == reinterpret_cast<Int>(run.room.data() + 150));
    CHECK(one.values[4] == 11);
}

TEST_CASE("launches are queued in order, as many at a time as may be, from any on, and a driver's error ends the run") {
    Run run;
    run.add({operands_word, 5});
    for (Int kernel = 1; kernel <= 7; ++kernel) run.add({launch_word, kernel, 1, 32, 1, plain_argument, kernel});
    run.add({end_word});
    arguments = 1;
    for (const Int first : {0, 1, 6})
        for (const Int most : {1, 2, 3, 10}) {
            launches.clear();
            Int position = 0, rounds = 0, begin = first;
            do {
                const std::size_t before = launches.size();
                CHECK(run.go(operands, begin, most, position) == 0);
                CHECK(launches.size() <= before + static_cast<std::size_t>(most));
                begin = first + static_cast<Int>(launches.size());
                ++rounds;
            } while (position && rounds < 20);
            CHECK(position == 0);
            REQUIRE(launches.size() == static_cast<std::size_t>(7 - first));
            for (std::size_t k = 0; k < launches.size(); ++k) {
                CHECK(launches[k].kernel == first + 1 + static_cast<Int>(k));
                CHECK(launches[k].values[0] == launches[k].kernel);
            }
        }
    launches.clear(), failing = 2;
    Int position = 0;
    CHECK(run.go(operands, 0, 10, position) == 700);
    CHECK(launches.size() == 2);
    failing = ~std::size_t{0};
}
