// Tests of what gates look like that a transpiler has taken apart.

#include <doctest.h>

#include <random>

#include "readers/python.test.hpp"

using qx::Int;
using qx::python::Object;
using qx::python::fake::Heap;

extern "C" Int qx_structure_taken_apart(Object* instructions, Object* op_type, Int begin, Int end, Int few, Int* out);

namespace {

struct Found {
    Int turns, runs, together, groups, pairs, dense;
    bool operator==(const Found&) const = default;
};

// Gates as tuples: the wires that they mix, masks that are read, the condition, pattern, operand and name.
struct Gates {
    Heap heap;
    Object *type = heap.add({}), *other = heap.add({}), *all = heap.tuple({});

    void add(const std::vector<int>& mixes, int condition, const char* name = "op") {
        std::vector<Object*> wires;
        for (int wire : mixes) wires.push_back(heap.integer(wire));
        Object* made = heap.tuple({heap.tuple(wires), heap.tuple({}), heap.tuple({heap.integer(condition)}), heap.text(""),
                                   heap.integer(0), heap.text(name)});
        made->type = type;
        all->items.push_back(made);
    }
    void cz(int one, int other) { add({}, 1 << one | 1 << other, "cz"); }
    Found seen(Int begin, Int end, Int few = 0) {
        Int out[6];
        CHECK(qx_structure_taken_apart(all, type, begin, end, few, out) == 0);
        CHECK(heap.is_balanced());
        return {out[0], out[1], out[2], out[3], out[4], out[5]};
    }
    Found seen() { return seen(0, static_cast<Int>(all->items.size())); }
};

}  // namespace

TEST_CASE("turns of single wires are counted behind gates on several, in the runs that they stand in") {
    Gates of;
    of.add({0}, 0), of.add({0}, 0, "sx");  // begins before a gate on several
    of.cz(0, 1);
    of.add({0}, 0, "sx"), of.add({}, 1, "rz"), of.add({0}, 0, "sx"), of.add({1}, 0, "x");
    of.add({}, 0, "phase");  // of no wire
    CHECK(of.seen() == Found{4, 2, 1, 1, 1, 0});
}

TEST_CASE("a phase and what mixes a wire, of one name, are one turn, and two matrices of one name are two") {
    Gates of;
    of.cz(0, 1);
    of.add({}, 1, "u"), of.add({0}, 0, "u"), of.add({}, 1, "u");
    of.add({1}, 0, "x"), of.add({1}, 0, "x");
    CHECK(of.seen() == Found{3, 2, 1, 1, 1, 0});
}

TEST_CASE("gates on the same wires one behind another are one run of these, until one of the wires is elsewhere") {
    Gates of;
    of.cz(0, 1), of.cz(0, 1), of.cz(1, 2), of.cz(0, 1), of.add({3, 4, 5}, 0), of.add({3, 4, 5}, 0);
    CHECK(of.seen() == Found{0, 0, 6, 4, 6, 0});
}

TEST_CASE("only what is looked at counts, and more on both sides of it for matrices on three wires") {
    Gates of;
    for (int k = 0; k < 20; ++k) of.cz(0, 1 + k % 2);
    CHECK(of.seen(8, 12) == Found{0, 0, 4, 4, 4, 0});
    CHECK(of.seen(8, 12, 6) == Found{0, 0, 4, 4, 16, 16});
    CHECK(of.seen(8, 12, 100) == Found{0, 0, 4, 4, 20, 20});
}

TEST_CASE("gates on three wires are of any matrix if there are 14 to 22, one behind another") {
    for (const auto& [gates, dense] : {std::pair{13, 0}, {14, 14}, {22, 22}, {23, 0}}) {
        Gates of;
        for (int k = 0; k < gates; ++k) of.cz(k % 3, (k + 1) % 3);
        CHECK(of.seen().dense == dense);
    }
}

TEST_CASE("a wire goes on from a matrix on three wires to the next, in whatever order layers are written") {
    std::mt19937 draw(3);
    for (int repeat = 0; repeat < 20; ++repeat) {
        // Blocks on wires 0 to 5, then on 2 to 4 and on 5, 0, 1: gates of one layer in a drawn order.
        Gates of;
        for (int shift : {0, 2}) {
            int done[2] = {0, 0};
            while (done[0] + done[1] < 36) {
                const int block = done[0] == 18 || (done[1] < 18 && draw() % 2);
                const int k = done[block]++, first = 3 * block + shift;
                of.cz((first + k % 3) % 6, (first + (k + 1) % 3) % 6);
            }
        }
        CHECK(of.seen().dense == 72);
    }
}

TEST_CASE("gates on pairs that overlap are none of any matrix on three, nor is what is no operation") {
    Gates of;
    for (int layer = 0; layer < 8; ++layer)
        for (int wire = layer % 2; wire < 7; wire += 2)
            for (int k = 0; k < 3; ++k) of.cz(wire, wire + 1);
    CHECK(of.seen().dense == 0);
    Gates cut;
    for (int k = 0; k < 20; ++k) {
        if (k == 10) {
            cut.all->items.push_back(cut.heap.text("Permutation(…)"));
            cut.all->items.back()->type = cut.other;
        }
        cut.cz(k % 3, (k + 1) % 3);
    }
    CHECK(cut.seen() == Found{0, 0, 21, 21, 21, 0});
}
