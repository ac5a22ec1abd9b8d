// Tests of the program that makes a plan's numbers: its listed form, and the code that runs it, against products, tables and
// rotations that are computed one by one.

#include "planner/coefficients/program.hpp"

#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

extern "C" qx::Int qx_plan_bind(const void* program, qx::Int size, const void* places, const void* incidence,
                                qx::Int num_operands, void* numbers, const void* roots, qx::Int tables);

namespace {

State roots_of_unity() {
    State out(4096);
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = std::polar(1.0, 6.283185307179586 / 4096 * static_cast<double>(k));
    return out;
}

// A program that is drawn: products of blocks, rotations, products with their numbers, and tables.
struct Program {
    explicit Program(unsigned seed) : drawn(seed, 3), program(operands()) {
        for (int k = 0; k < 12; ++k) {
            const Index blocks = Index{1} << drawn.below(2), size = Index{1} << (1 + drawn.below(2));
            multiply(blocks, size, size, 0, k);
        }
        for (int k = 0; k < 4; ++k) {
            const Piece rotation = matrix();
            const Places made = program.euler(rotation.source, drawn.below(2));
            packed.push_back(made.first + static_cast<Index>(drawn.below(euler_numbers)));
            if (k % 2) late(made);
        }
        for (const Index columns : {1u, 3u, 70u}) table(columns, 8);
        table(9, 64);
        for (const Places& one_of : known) packed.push_back(drawn.context.place(one_of, one_of.count - 1));
    }

    Drawn drawn;
    std::vector<Piece> matrices;
    std::vector<Places> known;
    CoefficientProgram program;
    std::vector<Index> packed;

  private:
    qx::Int operands() {
        for (int k = 0; k < 8; ++k) matrices.push_back(drawn.turn(0));
        for (int k = 0; k < 120; ++k) drawn.operands.push_back(drawn.phase());
        return static_cast<qx::Int>(drawn.operands.size());
    }
    const Piece& matrix() { return matrices[static_cast<std::size_t>(drawn.below(static_cast<int>(matrices.size())))]; }
    // Entries of an operand matrix, of constants, in any order.
    Factor some(Index size) {
        std::vector<Index> entries(size);
        for (Index& entry : entries) entry = static_cast<Index>(drawn.below(6));
        return drawn.context.factor(matrix().source, entries.data(), size);
    }
    void multiply(Index blocks, Index size, Index columns, Index late, int k) {
        const ProductKind kind{late, static_cast<Index>(1 + k), blocks, size, columns};
        Factor right = some(kind.right());
        const bool goes_on = !late && !known.empty() && known.back().count == kind.right() && drawn.below(2);
        if (goes_on) right = PlanContext::factor(known.back()), known.pop_back();  // its place is taken by the product
        known.push_back(program.product(kind, some(kind.left()), right));
    }
    void late(const Places& rotation) {
        const Index entries[] = {2, 3, 4, 5};
        const ProductKind kind{1, 20, 1, 2, 2};
        known.push_back(program.product(kind, drawn.context.factor(rotation, entries, 4), some(4)));
    }
    void table(Index columns, Index entries) {
        std::vector<std::uint64_t> incidence;
        std::vector<Index> factors;
        for (Index k = 0; k < columns; ++k) factors.push_back(static_cast<Index>(drawn.operands.size() - 1 - k));
        for (Index entry = 0; entry < entries; ++entry)
            for (Index word = 0; word < (columns + 63) / 64; ++word)
                incidence.push_back((drawn.mask() << 30 ^ drawn.mask() * 0x9e3779b97f4a7c15) &
                                    below(static_cast<int>(columns - 64 * word)));
        known.push_back(program.fold(std::move(incidence), std::move(factors), entries, false, drawn.context));
    }
};

}  // namespace

TEST_CASE("the listed program, run by the code that binds circuits, makes the numbers of the program") {
    const State roots = roots_of_unity();
    for (unsigned seed = 0; seed < 60; ++seed) {
        Program made(seed);
        const State expected = numbers_of(made.program, made.drawn.context, made.drawn.operands);
        const CoefficientArrays listed = made.program.listed(made.drawn.context, made.packed);
        State numbers = made.drawn.operands;
        const auto operands = static_cast<qx::Int>(numbers.size());
        numbers.resize(static_cast<std::size_t>(made.program.listed_size()));
        for (const qx::Int tables : {0, 1})
            qx_plan_bind(listed.program.data(), static_cast<qx::Int>(listed.program.size()), listed.places.data(),
                         listed.incidence.data(), operands, numbers.data(), roots.data(), tables);
        for (std::size_t k = 0; k < made.packed.size(); ++k)
            CHECK(std::abs(numbers[listed.packed[k]] - expected[made.packed[k]]) < near_enough);
    }
}

TEST_CASE("a table's entries are the products of their factors, and equal rows are made once") {
    Drawn drawn(1, 2);
    for (int k = 0; k < 3; ++k) drawn.operands.push_back(drawn.phase());
    CoefficientProgram program(5);
    const Places table = program.fold({0b000, 0b101, 0b111, 0b101}, {2, 3, 4}, 4, false, drawn.context);
    CHECK(program.size() == 5 + 3);
    const State numbers = numbers_of(program, drawn.context, drawn.operands);
    auto entry = [&](Index k) { return numbers[drawn.context.place(table, k)]; };
    const State& of = drawn.operands;
    CHECK(std::abs(entry(0) - 1.0) < near_enough);
    CHECK(std::abs(entry(1) - of[2] * of[4]) < near_enough);
    CHECK(std::abs(entry(2) - of[2] * of[3] * of[4]) < near_enough);
    CHECK(drawn.context.place(table, 3) == drawn.context.place(table, 1));
}

TEST_CASE("a product stands in the place of a right factor that is a product itself") {
    Drawn drawn(2, 1);
    const Piece a = drawn.turn(0), b = drawn.turn(0), c = drawn.turn(0);
    CoefficientProgram program(static_cast<qx::Int>(drawn.operands.size()));
    const Places first = program.product({0, 1, 1, 2, 2}, PlanContext::factor(b.source), PlanContext::factor(a.source));
    const Places second = program.product({0, 2, 1, 2, 2}, PlanContext::factor(c.source), PlanContext::factor(first));
    CHECK(second.first == first.first);
    CHECK(program.size() == program.num_operands() + 4);
    CHECK(program.listed_size() == program.num_operands() + 8);
}

TEST_CASE("a rotation's seven numbers are its matrix: phases around a real or an imaginary rotation") {
    Drawn drawn(3, 1);
    for (int run = 0; run < 200; ++run) {
        const double angle = run % 10 == 0 ? 0.0 : run % 10 == 1 ? 1.5707963267948966 : 6.28 * drawn.uniform();
        const bool imaginary = run % 2;
        const Number alpha = imaginary ? 1 : drawn.phase(), beta = drawn.phase(), gamma = drawn.phase();
        const Number minus = imaginary ? Number(0, 1) : Number(-1), plus = imaginary ? Number(0, 1) : Number(1);
        const double cosine = std::cos(angle), sine = std::sin(angle);
        const Number m[] = {gamma * cosine, gamma * beta * minus * sine, gamma * alpha * plus * sine,
                            gamma * alpha * beta * cosine};
        qx::Complex given[4], out[7];
        for (int k = 0; k < 4; ++k) given[k] = {m[k].real(), m[k].imag()};
        qx::split_rotation(given[0], given[1], given[2], given[3], imaginary, out);
        auto number = [&](int k) { return Number(out[k].re, out[k].im); };
        const Number before = number(5), behind = number(4), all = number(6);
        CHECK(std::abs(all * number(0) - m[0]) < near_enough);
        CHECK(std::abs(all * number(1) * before - m[1]) < near_enough);
        CHECK(std::abs(all * behind * number(2) - m[2]) < near_enough);
        CHECK(std::abs(all * behind * number(3) * before - m[3]) < near_enough);
        for (const int k : {0, 3}) CHECK(number(k).imag() == 0);
        for (const int k : {1, 2}) CHECK((imaginary ? number(k).real() : number(k).imag()) == 0);
    }
}
