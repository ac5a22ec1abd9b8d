// Tests of dense blocks that are taken apart: sweeps as kernels run them, against each item applied amplitude by amplitude.

#include "planner/blocks/turned.hpp"

#include <doctest.h>

#include "kernels/encoding.hpp"
#include "kernels/sets.test.hpp"
#include "planner/form/naive.test.hpp"
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
extern "C" Int qx_plan_turn_blocks(Int encoded, void* packed);
extern "C" Int qx_plan_free_encoded(Int encoded);

namespace {

constexpr int bits = 8;
constexpr Int long_enough = 1000000000;
constexpr double quarter = 0.78539816339744830962;
const std::vector<char> any_entries(16, complex_), any_triple(64, complex_);

// Gives a threshold another value for a while.
class Set {
  public:
    Set(qx::Threshold& which, Int value) : which_(which), before_(which) { which_ = value; }
    ~Set() { which_ = before_; }

  private:
    qx::Threshold& which_;
    const Int before_;
};

// A unitary matrix on two bits: turns, angles of XX, YY and ZZ, turns. Where `special`, many of them are multiples of π/4.
State drawn_block(Drawn& drawn, bool special) {
    const auto angle = [&] {
        if (!special || drawn.below(3) == 0) return 8 * quarter * drawn.uniform();
        return quarter * drawn.below(8) + (drawn.below(4) ? 0 : 1e-7 * drawn.uniform());
    };
    std::vector<std::pair<qx::form::Pauli, double>> rotations;
    const auto turns = [&] {
        for (Mask wire = 0; wire < 2; ++wire)
            for (const bool z : {true, false, true})
                rotations.push_back({{z ? 0 : Mask{1} << wire, z ? Mask{1} << wire : 0}, angle()});
    };
    turns();
    for (const qx::form::Pauli pauli : {qx::form::Pauli{3, 0}, qx::form::Pauli{3, 3}, qx::form::Pauli{0, 3}})
        rotations.push_back({pauli, angle()});
    turns();
    State matrix(16);
    const Number phase = drawn.phase();
    for (std::size_t column = 0; column < 4; ++column) {
        State state(4);
        state[column] = phase;
        for (const auto& [pauli, by] : rotations) state = qx::form::naive::rotated(pauli, by, state);
        for (std::size_t row = 0; row < 4; ++row) matrix[4 * row + column] = state[row];
    }
    return matrix;
}

// Makes a column of a matrix [4, 4] real, by phases behind it; returns the classes of its entries.
std::vector<char> with_real_column(State& matrix, std::size_t column) {
    std::vector<char> classes = any_entries;
    for (std::size_t row = 0; row < 4; ++row) {
        const Number by = std::conj(matrix[4 * row + column]) / std::abs(matrix[4 * row + column]);
        for (std::size_t k = 0; k < 4; ++k) matrix[4 * row + k] *= by;
        matrix[4 * row + column] = matrix[4 * row + column].real(), classes[4 * row + column] = real;
    }
    return classes;
}

// A unitary matrix on three bits: of matrices on two of them; where `special`, of two at most.
State drawn_triple(Drawn& drawn, bool special) {
    State matrix(64);
    const int most = special ? drawn.below(3) : 5;
    std::vector<State> factors;
    for (int k = 0; k < 5; ++k) factors.push_back(drawn_block(drawn, special));
    for (std::size_t column = 0; column < 8; ++column) {
        State state(8);
        state[column] = 1;
        const int pairs[5][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 1}, {1, 2}};
        for (int k = 0; k < most; ++k) {
            const auto [low, high] = pairs[k];
            State after(8);
            for (std::size_t row = 0; row < 8; ++row)
                for (std::size_t to = 0; to < 4; ++to) {
                    const std::size_t bits_of = std::size_t{1} << low | std::size_t{1} << high;
                    const std::size_t place = (row & ~bits_of) | (to & 1) << low | (to >> 1) << high;
                    after[place] +=
                        factors[static_cast<std::size_t>(k)][4 * to + (row >> low & 1) + 2 * (row >> high & 1)] * state[row];
                }
            state = after;
        }
        for (std::size_t row = 0; row < 8; ++row) matrix[8 * row + column] = state[row];
    }
    return matrix;
}

// Sweeps over all bits, each of which is written by a map that moves them.
struct Sweeps {
    explicit Sweeps(Drawn& drawn) : drawn(drawn) {}

    // Appends a sweep. to: where its bits go in memory.
    void add(const std::vector<Piece>& work, const std::vector<int>& to) {
        for (const Piece& piece : work) {
            items.push_back({static_cast<Int>(piece.kind), piece.num_mixed, piece.num_reads, piece.words,
                             static_cast<Int>(piece.when.mask), static_cast<Int>(piece.when.value),
                             static_cast<Int>(piece.pattern), static_cast<Int>(packed.size()) - begin(), 0,
                             static_cast<Int>(piece.to), 0});
            const Interned::Bytes classes = drawn.context.patterns[piece.pattern];
            for (Index k = 0; k < classes.size(); ++k)
                if (piece.num_reads || (classes[k] != zero && classes[k] != one))
                    packed.push_back(drawn.operands[drawn.context.place(piece.source, k)]);
        }
        Step step{};
        step.type = Step::sweep, step.tile = static_cast<Int>(below(bits));
        step.begin = static_cast<Int>(steps.size()), step.end = step.begin + 1;
        step.words = static_cast<Int>(drawn.context.words.size()), step.num_bits = bits;
        for (int place : to) drawn.context.words.push_back(unit(place));
        blocks.push_back({step.tile, steps.empty() ? 0 : blocks.back().end, static_cast<Int>(items.size())});
        step.packed = static_cast<Int>(packed.size());
        steps.push_back(step);
        works.push_back(work), moves.push_back(to);
    }
    Int begin() const { return steps.empty() ? 0 : steps.back().packed; }

    State expected(State state) const {
        for (std::size_t k = 0; k < works.size(); ++k)
            state = moved(applied(works[k], drawn.context, drawn.operands, state), moves[k]);
        return state;
    }

    // Returns a state after all sweeps, with blocks taken apart; writes how many.
    template <class Real, class Kernel>
    State after(Kernel kernel, Int vector_bits, const State& before, Int& turned) const {
        const PlanSteps plan{{steps, blocks, items, {}}, std::make_unique<PlanContext>(drawn.context)};
        const Int lane_bits = vector_bits - (sizeof(Real) == 4 ? 5 : 6);
        const Int made = qx_plan_encode_begin(reinterpret_cast<Int>(&plan), bits, lane_bits, sizeof(Real));
        while (qx_plan_encode(made, 50)) {
        }
        Int found[3];
        qx_plan_encoded(made, found);
        State numbers = packed;
        turned = qx_plan_turn_blocks(made, numbers.data());
        CHECK(turned <= found[2]);
        alignas(64) std::complex<Real> state[1 << bits];
        for (std::size_t k = 0; k < before.size(); ++k) state[k] = std::complex<Real>(before[k]);
        const auto* programs = reinterpret_cast<const qx::Program*>(found[0]);
        for (std::size_t k = 0; k < steps.size(); ++k) {
            const Int first = k ? steps[k - 1].packed : 0;
            CHECK(kernel(programs + k, reinterpret_cast<char*>(state), 1,
                         reinterpret_cast<const double*>(numbers.data() + first), 1, steps[k].packed - first, 0,
                         Int{1} << 40, 0, 1, long_enough) == 0);
        }
        qx_plan_free_encoded(made);
        State out;
        for (const auto& amplitude : state) out.push_back(Number(amplitude.real(), amplitude.imag()));
        return out;
    }

    // Compares all sweeps with their definition, with each instruction set and precision; returns how many blocks were
    // taken apart.
    Int check_everywhere() const {
        const State before = Drawn(7, bits).state(), wanted = expected(before);
        Int turned = 0;
        std::size_t set = 0;
        each_set(run_sweep_double_sets, [&](auto in_double) {
            const Int vector_bits = vector_bits_sets[set]();
            CHECK(distance(after<double>(in_double, vector_bits, before, turned), wanted) < 1e-11);
            CHECK(distance(after<float>(run_sweep_single_sets[set++], vector_bits, before, turned), wanted) < 2e-5);
        });
        return turned;
    }

    Drawn& drawn;
    std::vector<Step> steps;
    std::vector<RegisterBlock> blocks;
    std::vector<Item> items;
    State packed;
    std::vector<std::vector<Piece>> works;
    std::vector<std::vector<int>> moves;
};

std::vector<int> drawn_order(Drawn& drawn) {
    std::vector<int> out;
    for (int bit = 0; bit < bits; ++bit) out.push_back(bit);
    for (int bit = bits - 1; bit > 0; --bit)
        std::swap(out[static_cast<std::size_t>(bit)], out[static_cast<std::size_t>(drawn.below(bit + 1))]);
    return out;
}

// Draws blocks, one of so many of which is something else.
std::vector<Piece> drawn_work(Drawn& drawn, int count, bool special, int others) {
    std::vector<Piece> work;
    while (static_cast<int>(work.size()) < count) {
        const int target = drawn.bit(), other = drawn.other(target);
        switch (others ? drawn.below(5 * others) : 4 + drawn.below(3)) {
            case 0: work.push_back(drawn.cx(other, target)); break;
            case 1: work.push_back(drawn.turn(target)); break;
            case 2: work.push_back(drawn.phases(any_phase)); break;
            case 3: {  // a matrix that is not unitary
                work.push_back(drawn.piece(Kind::mix, {target, other}, {}, {}, any_entries));
                break;
            }
            case 4: {  // on three bits
                int third = drawn.bit();
                while (third == target || third == other) third = drawn.bit();
                const State matrix = drawn_triple(drawn, special);
                work.push_back(drawn.piece(Kind::mix, {target, other, third}, {}, {}, any_triple, matrix));
                break;
            }
            default: {
                State matrix = drawn_block(drawn, special);
                const bool some_real = !special && drawn.below(2);
                const std::vector<char> classes =
                    some_real ? with_real_column(matrix, static_cast<std::size_t>(drawn.below(4))) : any_entries;
                work.push_back(drawn.piece(Kind::mix, {target, other}, {}, {}, classes, matrix));
            }
        }
    }
    return work;
}

}  // namespace

TEST_CASE("blocks that are taken apart do together what they say, in sweeps that move bits, with each instruction set") {
    const Set always(qx::thresholds.turned_bits, 0);
    Int turned = 0;
    for (unsigned seed = 0; seed < 12; ++seed) {
        Drawn drawn(seed, bits);
        Sweeps sweeps(drawn);
        for (int k = 0; k < 3; ++k) sweeps.add(drawn_work(drawn, 10, seed % 2, seed % 3 ? 0 : 3), drawn_order(drawn));
        turned += sweeps.check_everywhere();
    }
    CHECK(turned > 100);
}

TEST_CASE("blocks whose scales together would be too much are matrices") {
    const Set always(qx::thresholds.turned_bits, 0);
    for (const Int limit : {0, 1, 3}) {
        const Set scale(qx::thresholds.scale_left, limit);
        Drawn drawn(3, bits);
        Sweeps sweeps(drawn);
        sweeps.add(drawn_work(drawn, 30, false, 0), drawn_order(drawn));
        CHECK(sweeps.check_everywhere() > 0);
    }
}

TEST_CASE("a block is linked with its neighbours on each bit, unless something else acts on it in between") {
    Drawn drawn(1, bits);
    Sweeps sweeps(drawn);
    const auto block = [&](int a, int b) {
        return drawn.piece(Kind::mix, {a, b}, {}, {}, any_entries, drawn_block(drawn, false));
    };
    std::vector<int> exchanged{1, 0, 2, 3, 4, 5, 6, 7};
    sweeps.add({block(0, 1), block(2, 3), block(1, 2)}, exchanged);
    sweeps.add({block(1, 2), drawn.piece(Kind::diagonal, {}, {unit(2)}, {}, {one, complex_}), block(2, 0)}, exchanged);
    const BlockLinks links(drawn.context, {sweeps.steps, sweeps.blocks, sweeps.items, {}});
    REQUIRE(links.blocks.size() == 5);
    const LinkedBlock& middle = links.blocks[2];
    CHECK(middle.slot == 32);
    CHECK(middle.before[0] == 1);      // bit 1 of block 0
    CHECK(middle.before[1] == 3);      // bit 0 of block 1
    CHECK(middle.after[0] == 3 * 4 + 1);  // its bit is 0 in the next sweep
    CHECK(middle.after[1] == 3 * 3 + 1);
    CHECK(links.blocks[0].after[0] == 3 * 3);
    CHECK(links.blocks[3].after[1] == -1);  // phases are in between
    CHECK(links.blocks[3].is_whole());
    CHECK(links.turnable() == 2);
    CHECK(links.may_be_turned(2));
}

TEST_CASE("a block may have real entries beside complex ones, but no others and not real ones alone") {
    Drawn drawn(1, bits);
    const auto turnable = [&](const std::vector<char>& classes) {
        Sweeps sweeps(drawn);
        for (int k = 0; k < 2; ++k) sweeps.add({drawn.piece(Kind::mix, {0, 1}, {}, {}, classes)}, {0, 1, 2, 3, 4, 5, 6, 7});
        return BlockLinks(drawn.context, {sweeps.steps, sweeps.blocks, sweeps.items, {}}).turnable();
    };
    std::vector<char> classes = any_entries;
    classes[0] = real;
    CHECK(turnable(classes) == 1);
    CHECK(turnable(std::vector<char>(16, real)) == 0);
    classes[0] = one;
    CHECK(turnable(classes) == 0);
}
