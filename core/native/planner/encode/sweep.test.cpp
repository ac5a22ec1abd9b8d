// Tests of the interpreter of sweeps, as it runs what encoders write, against each item applied amplitude by amplitude.

#include <doctest.h>

#include <complex>
#include <vector>

#include "kernels/encoding.hpp"
#include "kernels/sets.test.hpp"
#include "planner/naive.test.hpp"
#include "planner/steps.hpp"
#include "thresholds/table.hpp"

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
        Int found[3];
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

// Rotations, with a phase or without, and other matrices, many of them behind each other, with CX between them.
std::vector<Piece> drawn_rotations(Drawn& drawn, int count) {
    std::vector<Piece> work;
    while (static_cast<int>(work.size()) < count) {
        const int target = drawn.bit(), kind = drawn.below(13);
        const double angle = 6.283185307179586 * drawn.uniform(), c = std::cos(angle), s = std::sin(angle);
        const Number f = kind > 3 ? drawn.phase() : 1, is = Number(0, s);
        const std::vector<char> real_ones(4, real), complex_ones(4, complex_);
        switch (kind) {
            case 0:
            case 1: work.push_back(drawn.piece(Kind::mix, {target}, {}, {}, real_ones, {c, -s, s, c})); break;
            case 2:
            case 3:
                work.push_back(drawn.piece(Kind::mix, {target}, {}, {}, {real, imag, imag, real}, {c, is, is, c}));
                break;
            case 4:
            case 5:
                work.push_back(drawn.piece(Kind::mix, {target}, {}, {}, complex_ones, {f * c, -f * s, f * s, f * c}));
                break;
            case 6:
            case 7:
                work.push_back(drawn.piece(Kind::mix, {target}, {}, {}, complex_ones, {f * c, f * is, f * is, f * c}));
                break;
            case 8: work.push_back(drawn.piece(Kind::mix, {target}, {}, {}, real_ones, {c, s, s, -c})); break;
            case 9: work.push_back(drawn.turn(target)); break;
            case 10: {  // RXX, RYY and RZZ, of which the first two have one angle
                const Number g = drawn.phase(), o = 0;
                const char z = zero, any = complex_;
                work.push_back(drawn.piece(Kind::mix, {target, drawn.other(target)}, {}, {},
                                           {any, z, z, any, z, any, any, z, z, any, any, z, any, z, z, any},
                                           {g, o, o, o, o, f * c, f * is, o, o, f * is, f * c, o, o, o, o, g}));
                break;
            }
            default: work.push_back(drawn_cx(drawn, target));
        }
    }
    return work;
}

// Compares a sweep with its definition, with each instruction set and precision.
void check_everywhere(const std::vector<Piece>& work, Drawn& drawn, Mask tile) {
    const State before = drawn.state(), expected = applied(work, drawn.context, drawn.operands, before);
    const Swept sweep(work, drawn, tile);
    std::size_t set = 0;
    each_set(run_sweep_double_sets, [&](auto in_double) {
        const Int vector_bits = vector_bits_sets[set]();
        CHECK(distance(sweep.after<double>(in_double, vector_bits, before), expected) < 1e-12);
        CHECK(distance(sweep.after<float>(run_sweep_single_sets[set++], vector_bits, before), expected) < 2e-5);
    });
}

// Sets how much larger rotations may leave amplitudes, for a while.
class ScaleLeft {
  public:
    explicit ScaleLeft(Int bits) { qx::thresholds.scale_left = bits; }
    ~ScaleLeft() { qx::thresholds.scale_left = before_; }

  private:
    const Int before_ = qx::thresholds.scale_left;
};

// A program that exchanges some lane bits with the last row bits, and its state of 10 bits.
struct LanesExchanged {
    LanesExchanged(int lanes, Int row_bytes, int mask) : lane_bits(lanes), row_bits(size - lanes), instruction() {
        const Int rows = Int{1} << row_bits;
        for (Int row = 0; row <= qx::low_mask; ++row) integers.push_back(row < rows ? row << lane_bits : 0);
        for (Int row = 0; row < rows; row += qx::low_mask + 1) integers.push_back(row << lane_bits);
        Int free = rows - 1;
        for (int lane = 0; lane < lane_bits; ++lane) {
            if (!(mask >> lane & 1)) continue;
            const Int row = Int{1} << (row_bits - 1 - lane);
            instruction.offsets[lane] = static_cast<qx::Half>(row_bytes * row), free &= ~row;
        }
        instruction.kind = qx::Kind::LANES, instruction.size = mask, instruction.steps = instruction.origin = -1;
        instruction.free = static_cast<qx::Half>(row_bytes * free);
        instruction.count = qx::Half{1} << __builtin_popcountll(static_cast<unsigned long long>(free));
        geometry = {size, row_bits, (Int{1} << size) - 1, 0, 0, 1, 0, 0, 1, -1, -1, 0};
    }

    // Whether a kernel moves each amplitude to where the bits of its index are exchanged.
    template <class Real, class Kernel>
    bool is_right(Kernel kernel, int mask) const {
        const qx::Program program{&instruction, 1, nullptr, 0, nullptr, integers.data(), &geometry, 0};
        alignas(64) std::complex<Real> state[1 << size];
        for (int k = 0; k < 1 << size; ++k) state[k] = std::complex<Real>(static_cast<Real>(k), static_cast<Real>(-1 - k));
        const double none[2] = {};
        CHECK(kernel(&program, reinterpret_cast<char*>(state), 1, none, 1, 2, 0, Int{1} << 40, 0, 1, long_enough) == 0);
        bool right = true;
        for (int k = 0; k < 1 << size; ++k) {
            int to = k;
            for (int lane = 0; lane < lane_bits; ++lane) {
                const int row = size - 1 - lane;
                if (mask >> lane & 1 && ((k >> lane ^ k >> row) & 1)) to ^= 1 << lane | 1 << row;
            }
            right = right && state[to] == std::complex<Real>(static_cast<Real>(k), static_cast<Real>(-1 - k));
        }
        return right;
    }

    static constexpr int size = 10;
    int lane_bits, row_bits;
    qx::Instruction instruction;
    qx::Geometry geometry;
    std::vector<Int> integers;
};

}  // namespace

TEST_CASE("rotations that leave their scale to the end of a sweep, and such as may not, do what they say") {
    for (const Int bits_left : {0, 2, 60}) {
        const ScaleLeft limit(bits_left);
        for (unsigned seed = 0; seed < 30; ++seed) {
            Drawn drawn(seed, bits);
            check_everywhere(drawn_rotations(drawn, 2 + static_cast<int>(seed)), drawn, below(bits));
        }
    }
}

TEST_CASE("rotations whose scales together are no number leave those that are") {
    Drawn drawn(1, bits);
    std::vector<Piece> work;
    const double c = 1e-4, s = std::sqrt(1 - c * c);
    for (int k = 0; k < 80; ++k)
        work.push_back(drawn.piece(Kind::mix, {k % bits}, {}, {}, std::vector<char>(4, real), {c, -s, s, c}));
    check_everywhere(work, drawn, below(bits));
}

TEST_CASE("any lane bits are exchanged with row bits, with each instruction set and precision") {
    std::size_t set = 0;
    each_set(run_sweep_double_sets, [&](auto in_double) {
        const int vector_bits = static_cast<int>(vector_bits_sets[set]());
        const Int row_bytes = Int{2} << (vector_bits - 3);
        for (int mask = 1; mask < 1 << (vector_bits - 5); ++mask) {
            CHECK(LanesExchanged(vector_bits - 5, row_bytes, mask).is_right<float>(run_sweep_single_sets[set], mask));
            if (mask < 1 << (vector_bits - 6))
                CHECK(LanesExchanged(vector_bits - 6, row_bytes, mask).is_right<double>(in_double, mask));
        }
        ++set;
    });
}

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
