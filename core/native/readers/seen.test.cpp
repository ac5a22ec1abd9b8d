// Tests of the gates at the end of a circuit that nothing sees.

#include <doctest.h>

#include <string>

#include "readers/python.test.hpp"

using qx::Int;
using qx::python::Object;
using qx::python::fake::Heap;

extern "C" Int qx_structure_seen(Object* instructions, Object* op_type, Object* permutation_type, Object* acts_on, Int count,
                                 Int units, Int unseen, Int every, char* seen);

namespace {

// Gates on four wires, whose entries are letters; those of `x` move basis states.
struct Circuit {
    Heap heap;
    Object *op = heap.add({}), *permutation = heap.add({}), *name = heap.text("acts_on"), *all = heap.tuple({});

    void add(const std::vector<int>& mixes, int condition, const char* entries, bool unitary = true) {
        std::vector<Object*> wires;
        for (int wire : mixes) wires.push_back(heap.integer(wire));
        Object* made = heap.tuple({heap.tuple(wires), heap.tuple({}), heap.tuple({heap.integer(condition)}),
                                   heap.text(entries), heap.integer(0), heap.text("name"), heap.integer(unitary)});
        made->type = op;
        all->items.push_back(made);
    }
    void h(int wire) { add({wire}, 0, "\2\2\2\2"); }
    void x(int wire) { add({wire}, 0, "\1\1"); }
    void cz(int one, int other) { add({}, 1 << one | 1 << other, "\1"); }
    void permute(int mask) {
        Object* made = heap.add({});
        made->type = permutation;
        made->attributes[name] = heap.integer(mask);
        all->items.push_back(made);
    }
    // Returns a letter for each gate: 1 if it is seen, 0 if not, and a point if it is not looked at.
    std::string seen(Int unseen = 0) {
        std::string out(all->items.size(), '.');
        const Int count = static_cast<Int>(out.size());
        const Int first = qx_structure_seen(all, op, permutation, name, count, 1 << 1, unseen, 0b1111, out.data());
        CHECK(heap.is_balanced());
        for (Int k = 0; k < count; ++k) {
            char& one = out[static_cast<std::size_t>(k)];
            CHECK((one == '.') == (k < first));
            one = static_cast<char>(one == '.' ? one : '0' + one);
        }
        return out;
    }
};

}  // namespace

TEST_CASE("what is diagonal in wires that nothing turns later is not seen, and what moves basis states turns nothing") {
    Circuit of;
    of.cz(0, 1), of.h(0), of.cz(0, 1), of.x(1), of.cz(1, 2);
    CHECK(of.seen() == "11010");
    of.h(1);
    CHECK(of.seen() == "111111");
}

TEST_CASE("what mixes only wires of which nothing is asked is not seen, unless another gate asks") {
    Circuit of;
    of.h(0), of.add({2}, 1 << 0, "\2\2\2\2"), of.h(0), of.h(1);
    CHECK(of.seen(0b0011) == "1100");
    CHECK(of.seen(0b0111) == "0000");
}

TEST_CASE("a permutation moves the basis states of its wires") {
    Circuit of;
    of.cz(0, 1), of.permute(0b0011), of.cz(0, 3);
    CHECK(of.seen() == "010");
    CHECK(of.seen(0b0011) == "000");
}

TEST_CASE("the look ends at what is no unitary gate, and once all wires are turned") {
    Circuit of;
    of.cz(0, 1), of.add({0}, 0, "\2\2\2\2", false), of.cz(0, 1);
    CHECK(of.seen() == "..0");
    for (int wire = 0; wire < 4; ++wire) of.h(wire);
    CHECK(of.seen() == "...1111");
    of.all->items[1]->type = of.name;  // an instruction of another kind
    of.all->items.resize(3);
    CHECK(of.seen() == "..0");
}
