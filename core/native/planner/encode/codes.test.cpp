// Tests of how a matrix is cut into blocks, and of the numbers that its entries are.

#include "planner/encode/codes.hpp"

#include <doctest.h>

using qx::Int;
using namespace qx::plan;

namespace {

std::vector<MatrixBlock> blocks_of(const std::vector<char>& classes, int num_bits) {
    return matrix_blocks({classes.data(), classes.size()}, num_bits, 0);
}

using Values = std::vector<int>;

}  // namespace

TEST_CASE("a matrix is cut into the sets of values that it mixes, without those that stay") {
    std::vector<char> pairs(16, zero);  // values 0 and 3, 1 and 2, as an RXX does
    for (const int row : {0, 1, 2, 3})
        pairs[static_cast<std::size_t>(5 * row)] = pairs[static_cast<std::size_t>(3 * row + 3)] = complex_;
    const std::vector<MatrixBlock> two = blocks_of(pairs, 2);
    REQUIRE(two.size() == 2);
    CHECK(two[0].values == Values{0, 3});
    CHECK(two[1].values == Values{1, 2});
    const std::vector<MatrixBlock> one_pair = blocks_of(
        {one, zero, zero, zero, zero, complex_, complex_, zero, zero, complex_, complex_, zero, zero, zero, zero, one}, 2);
    REQUIRE(one_pair.size() == 1);
    CHECK(one_pair[0].values == Values{1, 2});
}

TEST_CASE("sets of values whose sizes are no powers of two are one block of all values") {
    std::vector<char> three(16, zero);
    for (const int row : {0, 1, 2})
        for (const int column : {0, 1, 2}) three[static_cast<std::size_t>(4 * row + column)] = complex_;
    three[15] = one;
    const std::vector<MatrixBlock> found = blocks_of(three, 2);
    REQUIRE(found.size() == 1);
    CHECK(found[0].values == Values{0, 1, 2, 3});
}

TEST_CASE("a matrix acts on planes where it is D R D^-1 with R real and D of 1 and i, and its codes are the entries of R") {
    // Imaginary between values of different planes, real between those of equal ones; places of numbers in their order.
    const std::vector<char> classes{real, imag, real, imag, imag, real, imag, real,
                                    real, imag, real, imag, imag, real, imag, real};
    const std::vector<MatrixBlock> found = blocks_of(classes, 2);
    REQUIRE(found.size() == 1);
    CHECK(found[0].planes == Values{0, 1, 0, 1});
    const Codes& codes = found[0].table.codes;
    REQUIRE(codes.size() == 32);
    for (int second = 0; second < 2; ++second)
        for (int row = 0; row < 4; ++row)
            for (int column = 0; column < 4; ++column) {
                const int at = 4 * row + column;
                const bool from_first = !(row & 1) && (column & 1), negated = from_first != (second && (row ^ column) & 1);
                const Int expected = (row ^ column) & 1 ? 4 * at + 2 + negated : 4 * at;
                CHECK(codes[static_cast<std::size_t>(16 * second + at)] == expected);
            }
}

TEST_CASE("a matrix with a complex entry, or with an imaginary one where planes are equal, acts on complex numbers") {
    CHECK(blocks_of({real, complex_, imag, real}, 1)[0].planes.empty());
    CHECK(blocks_of({real, real, imag, real}, 1)[0].planes.empty());
    CHECK(blocks_of({real, imag, imag, real}, 1)[0].planes == Values{0, 1});
}
