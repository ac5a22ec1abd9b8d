// Tests of how a matrix is cut into blocks, and of the numbers that its entries are.

#include "planner/encode/codes.hpp"

#include <doctest.h>

#include <string>

using qx::Int;
using namespace qx::plan;

namespace {

std::vector<MatrixBlock> blocks_of(const std::vector<char>& classes, int num_bits) {
    return cut({classes.data(), classes.size()}, num_bits, 0).blocks;
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

// Returns the values of the blocks of a matrix that mixes values of equal labels, in the order of the lowest.
std::vector<Values> joined(const std::string& labels, int num_bits) {
    std::vector<char> classes;
    for (const char row : labels)
        for (const char column : labels) classes.push_back(row == column ? complex_ : zero);
    std::vector<Values> out;
    for (const MatrixBlock& block : blocks_of(classes, num_bits)) out.push_back(block.values);
    return out;
}

TEST_CASE("sets of values whose sizes are no powers of two are joined with smaller ones, the largest first") {
    CHECK(joined("aaab", 2) == std::vector<Values>{{0, 1, 2, 3}});
    CHECK(joined("abacadbc", 3) == std::vector<Values>{{0, 2, 4, 5}, {1, 6}, {3, 7}});
    // Particles on two sites of four levels: of 1, 2, 3, 4, 3, 2 and 1 values.
    CHECK(joined("abcdbcdecdefdefg", 4) ==
          std::vector<Values>{{0, 2, 5, 8}, {1, 4}, {3, 6, 9, 12}, {7, 10, 13, 15}, {11, 14}});
    CHECK(joined("aaaaaaaabbbbbbcc", 4) == std::vector<Values>{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}});
}

TEST_CASE("sets of values that cannot be joined to powers of two are one block of all values") {
    CHECK(joined("aaabbbcc", 3) == std::vector<Values>{{0, 1, 2, 3, 4, 5, 6, 7}});
    CHECK(joined("aaaaabbbbbcccccd", 4).size() == 1);
}

// Returns a matrix that has entries where labels of a row and of a column are equal.
CutMatrix cut_by(const std::string& rows, const std::string& columns, int num_bits) {
    std::vector<char> classes;
    for (const char row : rows)
        for (const char column : columns) classes.push_back(row == column ? complex_ : zero);
    return cut({classes.data(), classes.size()}, num_bits, 0);
}

TEST_CASE("where sets of rows are others than those of columns, the values of columns are mixed and then moved") {
    const CutMatrix found = cut_by("abbbccccddddbaaa", "aaaabbbbccccdddd", 4);
    REQUIRE(found.blocks.size() == 4);
    for (std::size_t k = 0; k < 4; ++k)
        CHECK(found.blocks[k].values == Values{int(4 * k), int(4 * k + 1), int(4 * k + 2), int(4 * k + 3)});
    const std::string moved = "abbbccccddddbaaa", columns = "aaaabbbbccccdddd";
    std::string behind(16, ' ');
    for (std::size_t k = 0; k < 16; ++k) behind[static_cast<std::size_t>(found.to[k])] = columns[k];
    CHECK(behind == moved);
    CHECK(found.to[0] == 0);  // a row that has an entry there stays
}

TEST_CASE("rows stay where no fewer entries would be multiplied, and where a matrix has more rows of a set than columns") {
    CHECK(cut_by("aaaaaaaabbbbbbbb", "aaaaaaaabbbbbbbb", 4).to.empty());
    CHECK(cut_by("ab", "ba", 1).to.empty());
    CHECK(cut_by("bbbbbbbbbaaaaaaa", "aaaaaaaabbbbbbbb", 4).to.empty());
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
