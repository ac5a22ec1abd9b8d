// Tests of work that threads share: every chunk is done once, and a call ends in time; and of memory in pieces.

#include "base/pool.hpp"

#include <doctest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "base/array.hpp"
#include "base/ranges.hpp"
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

#if defined(__linux__)
// Returns a number that the system tells of this process: a word of a file, counted from 0.
long word_of(const char* name, int place) {
    long found = 0;
    std::FILE* file = std::fopen(name, "r");
    REQUIRE(file);
    while (place-- > 0) CHECK(std::fscanf(file, "%*s") == 0);
    CHECK(std::fscanf(file, "%ld", &found) == 1);
    std::fclose(file);
    return found;
}
#endif

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

TEST_CASE("every chunk is called once, by any number of threads, from the first on") {
    for (const Int threads : {1, 2, 3, 8})
        for (const Int chunks : {0, 1, 2, 7, 100}) {
            std::vector<std::atomic<int>> calls(static_cast<std::size_t>(chunks));
            const Int first = chunks / 3;
            const Int next = qx::share({first, chunks, threads, 0}, [&](Int k) { ++calls[static_cast<std::size_t>(k)]; });
            CHECK(next == chunks);
            for (Int k = 0; k < chunks; ++k) CHECK(calls[static_cast<std::size_t>(k)] == (k >= first));
        }
}

TEST_CASE("as many threads as are asked for are at work together, again and again") {
    for (int round = 0; round < 3; ++round) {
        std::atomic<int> inside{0};
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        qx::share({0, 4, 4, 0}, [&](Int) {
            ++inside;
            while (inside < 4 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        });
        CHECK(inside == 4);
        CHECK(std::chrono::steady_clock::now() < end);
    }
}

TEST_CASE("a call lasts about as long as it may, and notes whether its time was enough") {
    const auto pause = [](Int) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    qx::thresholds.slice_microseconds.forget();
    CHECK(qx::share({0, 5, 1, 60'000'000}, pause) == 5);
    CHECK(qx::thresholds.slice_microseconds.sides() == qx::Threshold::within);
    qx::thresholds.slice_microseconds.forget();
    const Int next = qx::share({0, 1 << 30, 1, 50'000}, pause);
    CHECK(next >= 2);  // a millisecond each, and far more on a busy machine
    CHECK(next <= 50);
    CHECK(qx::thresholds.slice_microseconds.sides() == qx::Threshold::beyond);
    qx::thresholds.slice_microseconds.forget();
    CHECK(qx::share({0, 1, 1, 1}, pause) == 1);  // it is over, but nothing is left
    CHECK(qx::thresholds.slice_microseconds.sides() == qx::Threshold::within);
}

TEST_CASE("a call that runs out of time returns the first chunk that was not called, after one at least") {
    for (const Int threads : {1, 4}) {
        std::vector<std::atomic<int>> calls(400);
        Int next = 0;
        int rounds = 0;
        for (; next < 400; ++rounds) {
            const Int before = next;
            next = qx::share({next, 400, threads, 1000}, [&](Int k) {
                ++calls[static_cast<std::size_t>(k)];
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            });
            CHECK(next > before);
            for (Int k = 0; k < next; ++k) CHECK(calls[static_cast<std::size_t>(k)] == 1);
            for (Int k = next; k < 400; ++k) CHECK(calls[static_cast<std::size_t>(k)] == 0);
        }
        CHECK(rounds > 1);
    }
}

TEST_CASE("two callers share work at once, and each gets its own chunks") {
    std::vector<std::atomic<int>> one(500), other(500);
    auto count = [](std::vector<std::atomic<int>>& calls) {
        for (int run = 0; run < 20; ++run)
            CHECK(qx::share({0, 500, 4, 0}, [&](Int k) { ++calls[static_cast<std::size_t>(k)]; }) == 500);
    };
    std::thread beside([&] { count(other); });
    count(one);
    beside.join();
    for (std::size_t k = 0; k < 500; ++k) {
        CHECK(one[k] == 20);
        CHECK(other[k] == 20);
    }
}

TEST_CASE("small jobs one after another, for whose tickets many threads contend, all end with every chunk called once") {
    std::atomic<Int> calls{0};
    for (int run = 0; run < 5000; ++run) CHECK(qx::share({0, 9, 8, 0}, [&](Int) { ++calls; }) == 9);
    CHECK(calls == 9 * 5000);
}

TEST_CASE("ranges make up all items, whatever an item weighs, and a call goes on where the one before ended") {
    for (const Int size : {1, 2, 1000, 100000})
        for (const Int each : {1, 100, 1 << 20})
            for (const Int threads : {1, 3}) {
                std::vector<std::atomic<int>> calls(static_cast<std::size_t>(size));
                Int chunk = 0;
                do {
                    chunk = qx::in_ranges({size, each, chunk, threads, 200}, [&](Int first, Int last) {
                        for (Int k = first; k < last; ++k) ++calls[static_cast<std::size_t>(k)];
                    });
                } while (chunk);
                bool once = true;
                for (const auto& of : calls) once = once && of == 1;
                CHECK(once);
            }
}

TEST_CASE("scratch memory is on a cache line, the same for each call of a thread, and larger when asked") {
    char* first = qx::scratch(100);
    CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
    CHECK(qx::scratch(50) == first);
    char* large = qx::scratch(1 << 20);
    large[(1 << 20) - 1] = 1;
    CHECK(qx::scratch(100) == large);
    char* beside = nullptr;
    std::thread([&] { beside = qx::scratch(100); }).join();
    CHECK(beside != large);
}

#if defined(__linux__)
TEST_CASE("threads are started once, and serve all later calls") {
    const auto threads = [] { return word_of("/proc/self/stat", 19); };
    const auto nothing = [](Int) {};
    qx::share({0, 100, 6, 0}, nothing);
    const long before = threads();
    CHECK(before > 5);
    for (int run = 0; run < 50; ++run) qx::share({0, 100, 6, 0}, nothing);
    CHECK(threads() == before);
}

TEST_CASE("scratch memory of a thread ends with it") {
    const auto pages = [] { return word_of("/proc/self/statm", 0); };  // of all addresses of this process
    constexpr std::size_t bytes = std::size_t{1} << 27;
    constexpr int threads = 40;
    const long before = pages();
    for (int k = 0; k < threads; ++k) std::thread([&] { CHECK(qx::scratch(bytes) != nullptr); }).join();
    CHECK(pages() - before < threads / 2 * static_cast<long>(bytes >> 12));
}
#endif

TEST_CASE("arrays keep their items when they grow, and begin on a cache line") {
    qx::Array<Int> array(3, 7);
    array.grow(1000);
    CHECK(array.size() == 1000);
    for (Int k = 0; k < 3; ++k) CHECK(array[k] == 7);
    CHECK(reinterpret_cast<std::uintptr_t>(array.begin()) % 64 == 0);
    qx::Array<Int> taken(std::move(array));
    CHECK(taken.size() == 1000);
    CHECK(taken[2] == 7);
}

TEST_CASE("a list gives its items back from its end") {
    qx::List<Int> list;
    for (Int k = 0; k < 1000; ++k) list.push(k * k);
    CHECK(list.size() == 1000);
    for (Int k = 1000; k-- > 500;) CHECK(list.pop() == k * k);
    Int at = 0;
    for (Int item : list) {
        CHECK(item == at * at);
        ++at;
    }
    CHECK(at == 500);
    list.clear();
    CHECK(list.size() == 0);
}

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
