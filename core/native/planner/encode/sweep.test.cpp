// Tests of the interpreter of sweeps, as it runs what encoders write, against each item applied amplitude by amplitude.

#include <doctest.h>

#include <complex>
#include <vector>

#include "kernels/encoding.hpp"
#include "kernels/sets.test.hpp"
#include "planner/naive.test.hpp"
#include "planner/steps.hpp"

using qx::each_set;
using qx::Int;
using namespace qx::plan;
using namespace qx::plan::naive;

QX_DECLARE(run_sweep_single, (const void*, char*, Int, const double*, Int, Int, Int, Int, Int, Int, Int));
QX_DECLARE(run_sweep_double, (const void*, char*, Int, const double*, Int, Int, Int, Int, Int, Int, Int));
QX_DECLARE(vector_bits, ());
extern "C" Int qx_plan_encode_begin(Int steps, Int num_bits, Int lane_bits, Int real_bytes);
extern "C" Int qx_plan_encode(Int encoded, Int milliseconds);
extern "C" Int qx_plan_encoded(Int encoded, Int* out);
extern "C" Int qx_plan_free_encoded(Int encoded);

namespace {

constexpr int bits = 8;
constexpr Int long_enough = 1000000000;

// A sweep of some pieces over tiles of some bits, and the numbers that it is given.
struct Swept {
    Swept(std::vector<Piece> work, Drawn& drawn, Mask tile) : plan{{}, std::make_unique<PlanContext>(drawn.context)} {
        std::vector<Number> packed[2];  // numbers, and table entries behind them
        std::vector<std::size_t> slots;
        for (const Piece& piece : work) {
            std::vector<Number>& to = packed[piece.num_reads != 0];
            slots.push_back(to.size());
            if (piece.kind == Kind::permute) continue;
            const Interned::Bytes classes = drawn.context.patterns[piece.pattern];
            for (Index k = 0; k < classes.size(); ++k)
                if (piece.num_reads || (classes[k] != zero && classes[k] != one))
                    to.push_back(drawn.operands[drawn.context.place(piece.source, k)]);
        }
        for (std::size_t k = 0; k < work.size(); ++k) {
            const Piece& piece = work[k];
            const std::size_t slot = slots[k] + (piece.num_reads ? packed[0].size() : 0);
            plan.steps.items.push_back({static_cast<Int>(piece.kind), piece.num_mixed, piece.num_reads, piece.words,
                                        static_cast<Int>(piece.when.mask), static_cast<Int>(piece.when.value),
                                        static_cast<Int>(piece.pattern), static_cast<Int>(slot), 0,
                                        static_cast<Int>(piece.to), 0});
        }
        plan.steps.register_blocks.push_back({static_cast<Int>(tile), 0, static_cast<Int>(work.size())});
        Step step{};
        step.type = Step::sweep, step.tile = static_cast<Int>(tile), step.end = 1;
        step.numbers = static_cast<Int>(packed[0].size()), step.tables = static_cast<Int>(packed[1].size());
        plan.steps.steps.push_back(step);
        numbers = packed[0];
        numbers.insert(numbers.end(), packed[1].begin(), packed[1].end());
    }

    // Returns a state after the sweep, run by a kernel of a set with vectors of so many bits.
    template <class Real, class Kernel>
    State after(Kernel kernel, Int vector_bits, const State& before) const {
        const Int lane_bits = vector_bits - (sizeof(Real) == 4 ? 5 : 6);
        const Int made = qx_plan_encode_begin(reinterpret_cast<Int>(&plan), bits, lane_bits, sizeof(Real));
        while (qx_plan_encode(made, 50)) {
        }
        Int found[2];
        qx_plan_encoded(made, found);
        alignas(64) std::complex<Real> state[1 << bits];
        for (std::size_t k = 0; k < before.size(); ++k) state[k] = std::complex<Real>(before[k]);
        const auto* program = reinterpret_cast<const qx::Program*>(found[0]);
        CHECK(kernel(program, reinterpret_cast<char*>(state), 1, reinterpret_cast<const double*>(numbers.data()), 1,
                     static_cast<Int>(numbers.size()), 0, Int{1} << 40, 0, 1, long_enough) == 0);
        qx_plan_free_encoded(made);
        State out;
        for (const auto& amplitude : state) out.push_back(Number(amplitude.real(), amplitude.imag()));
        return out;
    }

    PlanSteps plan;
    std::vector<Number> numbers;
};

std::vector<Piece> drawn_work(Drawn& drawn, Mask tile, int count) {
    std::vector<Piece> work;
    while (static_cast<int>(work.size()) < count) {
        const int target = drawn.bit(), other = drawn.other(target);
        if (!(tile >> target & 1)) continue;
        switch (drawn.below(4)) {
            case 0: work.push_back(drawn.cx(other, target, drawn.below(2))); break;
            case 1: work.push_back(drawn.turn(target)); break;
            case 2: {
                Piece piece = drawn.turn(target);
                piece.when = {unit(other), drawn.below(2) ? unit(other) : 0};
                work.push_back(piece);
                break;
            }
            default: work.push_back(drawn.phases(any_phase));
        }
    }
    return work;
}

}  // namespace

TEST_CASE("a sweep does what its items say, whatever bits its tiles have, with each instruction set and precision") {
    const std::size_t runs = std::size(run_sweep_double_sets);
    std::size_t set = 0;
    each_set(run_sweep_double_sets, [&](auto in_double) {
        const Int vector_bits = vector_bits_sets[set]();
        const auto in_single = run_sweep_single_sets[set++];
        for (unsigned seed = 0; seed < 40; ++seed) {
            Drawn drawn(seed, bits);
            const Mask tile = seed % 2 ? below(bits) : below(bits) & ~unit(static_cast<int>(4 + seed % 4));
            const std::vector<Piece> work = drawn_work(drawn, tile, 1 + static_cast<int>(seed % 10));
            const State before = drawn.state(), expected = applied(work, drawn.context, drawn.operands, before);
            const Swept sweep(work, drawn, tile);
            CHECK(distance(sweep.after<double>(in_double, vector_bits, before), expected) < 1e-12);
            CHECK(distance(sweep.after<float>(in_single, vector_bits, before), expected) < 1e-5);
        }
    });
    CHECK(set <= runs);
}
