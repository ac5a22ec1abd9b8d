// Tests of refused memory: the call that asked for it ends, nothing that it allocated is left, and what others have stays.

#include "base/refusal.hpp"

#include <doctest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "base/array.hpp"
#include "base/owned.hpp"
#include "base/ranges.hpp"

using qx::guarded;
using qx::Int;
using qx::refused;

extern "C" Int qx_refuse_after(Int count);
extern "C" Int qx_allocated_blocks();

namespace {

// Calls `work` with the first allocation refused, with the second one, and so on, until none is; returns how many were.
template <class Work>
int refuse_each(const Work& work) {
    for (int count = 0;; ++count) {
        qx_refuse_after(count);
        work();
        if (qx_refuse_after(-1) >= 0) return count;
    }
}

// Allocates blocks of different sizes, and frees some of them; returns the sum of what it wrote there.
Int sum_of_lists() {
    std::vector<std::vector<Int>> lists(3);
    std::unique_ptr<Int> last = std::make_unique<Int>(0);
    for (Int k = 0; k < 100; ++k) lists[static_cast<std::size_t>(k % 3)].push_back(k);
    qx::Array<Int> array(10, 1);
    array.grow(20);
    lists.erase(lists.begin());
    for (const auto& list : lists)
        for (Int k : list) *last += k;
    return *last + array[0];
}

struct Counts {
    std::vector<Int> values;
};

}  // namespace

TEST_CASE(
    "blocks of all lengths that are freed and allocated again in a call keep what is written there, and none is left") {
    const Int before = qx_allocated_blocks();
    const Int found = guarded([] {
        std::vector<std::vector<char>> blocks;
        Int wrong = 0;
        for (std::size_t k = 0; k < 3000; ++k) {
            const std::size_t length = k * k % 211'111 / (1 + k % 97) + 1;
            blocks.emplace_back(length, static_cast<char>(length));
            if (k % 3 == 2) blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(k * 7 % blocks.size()));
        }
        for (const auto& block : blocks)
            for (char byte : block) wrong += byte != static_cast<char>(block.size());
        return wrong;
    });
    CHECK(found == 0);
    CHECK(qx_allocated_blocks() == before);
}

TEST_CASE("a call whose allocation is refused returns that, and none of its memory is left") {
    const Int before = qx_allocated_blocks(), sum = sum_of_lists();
    int granted = 0;
    const int count = refuse_each([&] {
        const Int found = guarded([] { return sum_of_lists(); });
        granted += found == sum;
        CHECK((found == sum || found == refused));
        CHECK(qx_allocated_blocks() == before);
    });
    CHECK(granted == 1);
    CHECK(count > 20);
}

TEST_CASE("memory that there cannot be is refused by the system, and the call tells how much it was") {
    constexpr std::size_t much = std::numeric_limits<std::ptrdiff_t>::max() / 2;
    CHECK(guarded([] { return reinterpret_cast<Int>(operator new(much)); }) == refused);
    CHECK(qx::refused_bytes() == much);
    CHECK(guarded([] { return qx::Array<Int>(Int{1} << 59).size(); }) == refused);
    CHECK(qx::refused_bytes() == std::size_t{8} << 59);
    CHECK(guarded([] { return qx::Array<Int>(-1).size(); }) == refused);
    CHECK(guarded([] { return 5; }) == 5);
}

TEST_CASE("who asks for memory or null gets null, and goes on") {
    qx_refuse_after(0);
    CHECK(guarded([] { return operator new(8, std::nothrow) == nullptr ? 6 : 7; }) == 6);
    qx_refuse_after(-1);
    const Int before = qx_allocated_blocks();
    operator delete(operator new(8, std::nothrow));
    CHECK(qx_allocated_blocks() == before);
}

TEST_CASE("what others have allocated stays, unless the call has freed it") {
    auto kept = std::make_unique<Int>(7), freed = std::make_unique<Int>(8);
    const Int before = qx_allocated_blocks();
    qx_refuse_after(1);
    CHECK(guarded([&] {
              freed.reset();
              const qx::Array<Int> own(10);
              return qx::Array<Int>(20).size() + own.size();
          }) == refused);
    qx_refuse_after(-1);
    CHECK(qx_allocated_blocks() == before - 1);
    CHECK(*kept == 7);
    CHECK(!freed);
}

TEST_CASE("a call within another is refused alone") {
    qx_refuse_after(1);
    Int inner = 0;
    CHECK(guarded([&] {
              const qx::Array<Int> own(10, 1);
              inner = guarded([] { return qx::Array<Int>(20).size(); });
              return own[3];
          }) == 1);
    qx_refuse_after(-1);
    CHECK(inner == refused);
}

TEST_CASE("what is to be undone is undone once, the last first, while memory is still there") {
    for (const bool refuses : {false, true}) {
        Int order[2] = {}, at = 0;
        const Int found = guarded([&] {
            const qx::Array<Int> memory(4, 3);
            const auto first = [&] { order[at++] = memory[0]; };
            const qx::Undo one(first);
            const auto second = [&] { order[at++] = 10 * memory[1]; };
            const qx::Undo other(second);
            if (refuses) qx::refuse(1);
            return 1;
        });
        CHECK(found == (refuses ? refused : 1));
        CHECK(at == 2);
        CHECK(order[0] == 30);
        CHECK(order[1] == 3);
    }
}

TEST_CASE("an object between calls is there until a change of it is refused, and its memory ends with it") {
    using Owned = qx::Owned<Counts>;
    const Int before = qx_allocated_blocks();
    const int count = refuse_each([&] {
        const Int owned = Owned::make([] { return new Counts{std::vector<Int>(5, 1)}; });
        if (owned == refused) {
            CHECK(qx_allocated_blocks() == before);
            return;
        }
        const auto grow = [](Counts& of) { return of.values.resize(1000, 2), of.values[0] + of.values[999]; };
        const Int grown = Owned::change(owned, grow);
        CHECK((grown == 3 || grown == refused));
        if (grown == refused) {
            CHECK(qx_allocated_blocks() == before + 1);
            CHECK(Owned::change(owned, [](Counts&) { return 4; }) == refused);
        } else {
            CHECK(Owned::at(owned).values.size() == 1000);
        }
        Owned::drop(owned);
        CHECK(qx_allocated_blocks() == before);
    });
    CHECK(count == 4);
    CHECK(Owned::make([]() -> Counts* { return nullptr; }) == 0);
    Owned::drop(0);
    CHECK(qx_allocated_blocks() == before);
}

TEST_CASE("an object stays as it was if more memory for it is refused, and keeps what it is granted") {
    using Owned = qx::Owned<Counts>;
    const Int before = qx_allocated_blocks(), owned = Owned::make([] { return new Counts{{1, 2, 3}}; });
    const auto extend = [](Counts& of) {
        std::vector<Int> longer(of.values);
        longer.resize(1000);
        of.values.swap(longer);
        return 1;
    };
    int granted = 0;
    refuse_each([&] {
        if (Owned::extend(owned, extend) == refused) CHECK(Owned::at(owned).values.size() == 3);
        else ++granted;
    });
    CHECK(granted == 1);
    CHECK(Owned::at(owned).values.size() == 1000);
    CHECK(Owned::change(owned, [](Counts& of) { return of.values.push_back(4), of.values[2]; }) == 3);
    Owned::drop(owned);
    CHECK(qx_allocated_blocks() == before);
}

TEST_CASE("work that threads share is refused where a chunk of it is, and is done when it is tried again") {
    for (const Int threads : {1, 4}) {
        std::vector<std::atomic<int>> calls(50);
        const auto work = [&](Int first, Int last) {
            for (Int k = first; k < last; ++k) {
                const qx::Array<Int> own(100 + k, 1);
                calls[static_cast<std::size_t>(k)] += static_cast<int>(own[k]);
            }
        };
        qx_refuse_after(20);
        CHECK(qx::in_ranges({50, 1 << 18, 0, threads, 0}, work) == refused);
        qx_refuse_after(-1);
        CHECK(qx::refused_bytes() >= 800);
        CHECK(qx::refused_bytes() < 1200);
        for (auto& of : calls) of = 0;
        CHECK(qx::in_ranges({50, 1 << 18, 0, threads, 0}, work) == 0);
        for (const auto& of : calls) CHECK(of == 1);
    }
}

TEST_CASE("nothing begins without the scratch memory of the caller, and threads that lack it leave the work to others") {
    constexpr std::size_t more = std::size_t{3} << 22;  // than other tests ask for
    std::vector<std::atomic<int>> calls(400);
    const auto work = [&](Int k) { calls[static_cast<std::size_t>(k)] += qx::scratch(more) != nullptr; };
    qx_refuse_after(0);
    CHECK(qx::share({0, 400, 4, 0, more}, work) == refused);
    qx_refuse_after(-1);
    CHECK(qx::refused_bytes() == more);
    for (const auto& of : calls) CHECK(of == 0);
    qx_refuse_after(1);
    CHECK(qx::share({0, 400, 4, 0, more}, work) == 400);
    qx_refuse_after(-1);
    for (const auto& of : calls) CHECK(of == 1);
}
