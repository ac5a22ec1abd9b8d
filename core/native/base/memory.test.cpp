// Tests of memory that is copied, cleared and swapped in pieces, against loops over single bytes.

#include <doctest.h>

#include <random>
#include <vector>

#include "base/int.hpp"
#include "thresholds/table.hpp"

using qx::Int;

extern "C" Int qx_copy(char* to, const char* from, Int bytes, Int first, Int threads, Int microseconds);
extern "C" Int qx_clear(char* to, Int bytes, Int first, Int threads, Int microseconds);
extern "C" Int qx_copy_rows(char* to, const char* from, Int rows, Int width, Int to_stride, Int from_stride, Int first,
                            Int threads, Int microseconds);
extern "C" Int qx_swap(char* mine, char* theirs, Int rows, Int width, Int stride, Int first, Int threads, Int microseconds);

namespace {

using Bytes = std::vector<char>;

Bytes drawn(Int size, unsigned seed) {
    std::mt19937 random(seed);
    Bytes found(static_cast<std::size_t>(size));
    for (char& byte : found) byte = static_cast<char>(random());
    return found;
}

char& at(Bytes& of, Int place) { return of[static_cast<std::size_t>(place)]; }

// Calls `test` with pieces of one byte, of some, and of more than there are.
template <class Test>
void with_pieces(const Test& test) {
    const qx::Thresholds usual = qx::thresholds;
    for (const Int piece : {1, 7, 64, 1000, 1 << 20}) {
        qx::thresholds.chunk_bytes = piece;
        for (const Int threads : {1, 3}) test(threads);
    }
    qx::thresholds = usual;
}

}  // namespace

TEST_CASE("bytes are copied and cleared in pieces of any size, and those beside them stay") {
    with_pieces([](Int threads) {
        for (const Int size : {0, 1, 63, 64, 1001}) {
            Bytes from = drawn(size + 1, 1), to = drawn(size + 2, 2), expected = to;
            for (Int k = 0; k < size; ++k) at(expected, k + 1) = at(from, k);
            CHECK(qx_copy(to.data() + 1, from.data(), size, 0, threads, 0) == 0);
            CHECK(to == expected);
            for (Int k = 0; k < size; ++k) at(expected, k + 1) = 0;
            CHECK(qx_clear(to.data() + 1, size, 0, threads, 0) == 0);
            CHECK(to == expected);
        }
    });
}

TEST_CASE("rows are copied and swapped in pieces of any size, and what is between them stays") {
    with_pieces([](Int threads) {
        for (const Int rows : {1, 2, 9})
            for (const Int width : {1, 64, 150}) {
                const Int wide = width + 5, narrow = width + 2;
                Bytes from = drawn(rows * narrow, 3), to = drawn(rows * wide, 4), expected = to;
                for (Int row = 0; row < rows; ++row)
                    for (Int k = 0; k < width; ++k) at(expected, row * wide + k) = at(from, row * narrow + k);
                CHECK(qx_copy_rows(to.data(), from.data(), rows, width, wide, narrow, 0, threads, 0) == 0);
                CHECK(to == expected);
                Bytes other = drawn(rows * wide, 5), mine = to, theirs = other;
                for (Int row = 0; row < rows; ++row)
                    for (Int k = 0; k < width; ++k) std::swap(at(mine, row * wide + k), at(theirs, row * wide + k));
                CHECK(qx_swap(to.data(), other.data(), rows, width, wide, 0, threads, 0) == 0);
                CHECK(to == mine);
                CHECK(other == theirs);
            }
    });
}
