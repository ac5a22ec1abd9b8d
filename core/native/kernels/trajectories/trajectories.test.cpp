// Tests of trajectories: gates alone give the state of the definition, and shots choose by the random numbers of their keys.

#include "kernels/trajectories/trajectories.hpp"

#include <doctest.h>

#include <cmath>
#include <complex>
#include <vector>

#include "base/philox.hpp"
#include "kernels/sets.test.hpp"

using qx::each_set;
using qx::Int;

QX_DECLARE(trajectories, (const void*, Int, Int*, Int, Int, Int));

namespace {

using namespace qx::trajectories;
using Amplitudes = std::vector<std::complex<double>>;

const double root = std::sqrt(0.5);
const std::vector<double> h{root, 0, root, 0, root, 0, -root, 0}, x{0, 0, 1, 0, 1, 0, 0, 0}, i{1, 0, 0, 0, 0, 0, 1, 0};

// What is run, and where its results go.
struct Shots {
    Shots(std::vector<Step> of, Int num_wires, Int columns, Int shots, Int single = 0)
        : steps(std::move(of)), out(static_cast<std::size_t>(shots << num_wires)), singles(out.size()),
          of_groups(static_cast<std::size_t>(shots)), counts(of_groups.size()),
          outcomes(static_cast<std::size_t>(shots * (columns + 1))) {
        steps.push_back({READING, 0, 0, 0, 0, 0, 0, 0});  // the end
        for (std::size_t k = 0; k <= steps.size(); ++k) next_work.push_back(static_cast<Int>(k));
        request.num_wires = num_wires, request.num_steps = static_cast<Int>(steps.size()), request.columns = columns;
        request.shots = shots, request.single = single, request.most = 2;
    }
    // Runs it; returns how many groups there are.
    template <class Kernel>
    Int run(Kernel kernel) {
        request.steps = steps.data(), request.channels = channels.data(),
        request.num_channels = static_cast<Int>(channels.size());
        request.next_work = next_work.data(), request.ints = ints.data(), request.floats = floats.data();
        request.m = m.data(), request.keys = keys.data(), request.defaults = defaults.data();
        request.out = request.single ? static_cast<void*>(singles.data()) : out.data();
        request.out_shots = of_groups.data(), request.out_counts = counts.data(), request.out_outcomes = outcomes.data();
        Int groups = 0;
        CHECK(kernel(&request, 1, &groups, 0, 1, 1000000000) == 1);
        return groups;
    }

    std::vector<Step> steps;
    std::vector<Channel> channels;
    std::vector<Int> next_work, ints;
    std::vector<double> floats, m;
    std::vector<std::uint64_t> keys;
    std::vector<std::uint8_t> defaults;
    Amplitudes out;
    std::vector<std::complex<float>> singles;
    std::vector<Int> of_groups, counts;
    std::vector<std::uint8_t> outcomes;
    Request request{};
};

void append(std::vector<double>& to, const std::vector<double>& matrix) {
    to.insert(to.end(), matrix.begin(), matrix.end());
}

}  // namespace

TEST_CASE("gates alone are one group of all shots, whose state is theirs") {
    each_set(trajectories_sets, [](auto kernel) {
        for (const Int single : {0, 1}) {
            // H on wire 0, CX from 0 to 3, and X on wire 1 where wire 0 is 0.
            Shots of({{GATE, 0, 0, 1, 0, 0, 0, -1}, {GATE, 4, 1, 1, 0, 1, 1, -1}, {GATE, 4, 2, 1, 0, 1, 0, -1}}, 4, 0, 7,
                     single);
            of.ints = {1, 8, 2};
            append(of.m, h), append(of.m, x);
            REQUIRE(of.run(kernel) == 1);
            CHECK(of.counts[0] == 7);
            for (std::size_t k = 0; k < 16; ++k) {
                const double expected = k == 0b1001 || k == 0b0010 ? root : 0;
                const std::complex<double> found = single ? std::complex<double>(of.singles[k]) : of.out[k];
                CHECK(std::abs(found - expected) < 1e-7);
            }
        }
    });
}

TEST_CASE("a bit flip happens in the shots whose random numbers say so, which are one group with that state") {
    each_set(trajectories_sets, [](auto kernel) {
        constexpr Int shots = 203;
        constexpr double stays = 0.7;
        Shots of({{CHOICE, 0, 0, 1, 0, 0, 0, 0}}, 3, 1, shots);
        of.ints = {4};
        of.channels = {{2, 2, 0, 4, 0, 0, 1, 0, 0, 0}};
        append(of.m, i), append(of.m, x);
        of.floats = {0, 0, 1, stays, 1, 1, 1, 0, 0, 0, 1};  // window, factor, ends, scales, least, order
        of.floats.resize(of.floats.size() + 4 + 16);
        of.keys = {12, 34}, of.defaults = {0};
        std::vector<Int> expected[2];
        for (Int shot = 0; shot < shots; ++shot) {
            const qx::Four four = qx::philox(12, 34, static_cast<std::uint64_t>(shot / 4));
            expected[qx::unit(four.x[shot % 4]) >= stays].push_back(shot);
        }
        REQUIRE(of.run(kernel) == 2);
        const Int* next = of.of_groups.data();
        for (std::size_t group = 0; group < 2; ++group) {
            const std::vector<Int> found(next, next + of.counts[group]);
            next += of.counts[group];
            const std::size_t outcome = of.outcomes[group];
            CHECK(found == expected[outcome]);
            for (std::size_t k = 0; k < 8; ++k)
                CHECK(std::abs(of.out[8 * group + k] - (k == 4 * outcome ? 1.0 : 0.0)) < 1e-12);
        }
        CHECK(of.outcomes[0] != of.outcomes[1]);
    });
}
