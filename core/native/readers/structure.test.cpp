// Tests of the wires that operations mix and join, and of their text, whose place some objects in memory take.

#include <doctest.h>

#include <string>

#include "readers/python.test.hpp"

using qx::Int;
using qx::python::Object;
using qx::python::fake::Heap;

extern "C" Int qx_structure_wires(Object* instructions, Int count, Int num_qubits, Int* out);
extern "C" Int qx_structure_alike(Object* instructions, Object* type);
extern "C" Int qx_structure_hash(Object* instructions, Int count);
extern "C" Int qx_structure_counted(Object* instructions, Int count, Object* type, Object* names, const double* by,
                                    double* out);
extern "C" Int qx_structure_operands(Object* instructions, Object* type);
extern "C" Int qx_structure_text(Object* instructions, Object* op_type, Int begin, Int end, char* buffer, Int room,
                                 Int* written);

namespace {

// Operations as tuples: wires, masks that are read, the condition, pattern, operand, name, whether it is unitary.
struct Operations {
    Heap heap;
    Object *type = heap.add({}), *other = heap.add({}), *all = heap.tuple({});

    void add(const std::vector<int>& mixes, const std::vector<int>& reads, int condition, const char* name = "op") {
        std::vector<Object*> wires, masks;
        for (int wire : mixes) wires.push_back(heap.integer(wire));
        for (int mask : reads) masks.push_back(heap.integer(mask));
        Object* made = heap.tuple({heap.tuple(wires), heap.tuple(masks), heap.tuple({heap.integer(condition)}),
                                   heap.text("b'01'"), heap.integer(-37), heap.text(name), heap.text("True")});
        made->type = type;
        all->items.push_back(made);
    }
    std::vector<Int> wires(Int num_qubits) {
        std::vector<Int> out(3);
        CHECK(qx_structure_wires(all, static_cast<Int>(all->items.size()), num_qubits, out.data()) == 0);
        return out;
    }
};

}  // namespace

TEST_CASE("wires are mixed by matrices, acted on by reads and conditions, and joined in groups") {
    Operations of;
    of.add({0}, {}, 0);
    of.add({1}, {}, 1 << 2);         // joins 1 and 2
    of.add({}, {1 << 3 | 1 << 4}, 0);  // and a parity 3 and 4
    CHECK(of.wires(6) == std::vector<Int>{0b000011, 0b011111, 3});
    of.add({}, {1 << 0}, 1 << 3);
    CHECK(of.wires(6) == std::vector<Int>{0b000011, 0b011111, 2});
    of.add({5, 1, 0}, {}, 0);
    CHECK(of.wires(6) == std::vector<Int>{0b100011, 0b111111, 1});
    of.add({}, {}, 0);  // a global phase joins nothing
    CHECK(of.wires(6) == std::vector<Int>{0b100011, 0b111111, 1});
}

TEST_CASE("looking ends where all wires are mixed and joined, and no earlier") {
    Operations mixed;
    for (const int wire : {0, 1, 2}) mixed.add({wire}, {}, 0);
    CHECK(mixed.wires(3) == std::vector<Int>{0b111, 0b111, 3});
    mixed.add({}, {0b011}, 0b100);  // joins what was mixed before
    CHECK(mixed.wires(3) == std::vector<Int>{0b111, 0b111, 1});
    Operations joined;
    joined.add({}, {0b111}, 0);
    CHECK(joined.wires(3) == std::vector<Int>{0, 0b111, 1});
    for (const int wire : {2, 0, 1}) joined.add({wire}, {}, 0);  // mixes what was joined before
    CHECK(joined.wires(3) == std::vector<Int>{0b111, 0b111, 1});
    joined.all->items.push_back(nullptr);  // nothing looks at what comes behind
    CHECK(joined.wires(3) == std::vector<Int>{0b111, 0b111, 1});
}

TEST_CASE("instructions are alike up to the first that is of another type") {
    Operations of;
    CHECK(qx_structure_alike(of.all, of.type) == 0);
    of.add({0}, {}, 0);
    of.add({1}, {}, 0);
    CHECK(qx_structure_alike(of.all, of.type) == 2);
    CHECK(qx_structure_alike(of.all, of.other) == 0);
    of.all->items.back()->type = of.other;
    CHECK(qx_structure_alike(of.all, of.type) == 1);
    CHECK(of.heap.is_balanced());
}

TEST_CASE("a hash is one of equal objects in their order, whichever objects they are") {
    Heap heap;
    std::vector<Object*> one, other, turned;
    for (int k = 0; k < 1000; ++k) {
        one.push_back(heap.integer(k % 700));
        other.push_back(k % 3 ? heap.integer(k % 700) : one.back());
    }
    turned = one;
    std::swap(turned[3], turned[998]);
    const auto hash = [&](const std::vector<Object*>& of, Int count) { return qx_structure_hash(heap.tuple(of), count); };
    CHECK(hash(one, 1000) == hash(other, 1000));
    CHECK(hash(one, 1000) != hash(turned, 1000));
    CHECK(hash(one, 1000) != hash(one, 999));
    CHECK(hash(one, 998) != hash(turned, 998));
    CHECK(heap.is_balanced());
}

TEST_CASE("gates that leave phases count with these, whether they stand behind them or are one") {
    Operations of;
    Object* names = of.heap.tuple({of.heap.text("phases"), of.heap.text("rz"), of.heap.text("pair")});
    const double by[] = {0, 2, 1.5};
    const auto counted = [&](Int count) {
        double out = -1;
        CHECK(qx_structure_counted(of.all, count, of.type, names, by, &out) == 0);
        CHECK(of.heap.is_balanced());
        return out;
    };
    CHECK(counted(0) == 0);
    of.add({}, {}, 1, "rz");
    of.add({}, {}, 0, "rz");  // its phase
    of.add({0}, {}, 0, "h");
    of.add({}, {1}, 0, "pair");
    of.add({1}, {}, 0, "pair");
    CHECK(counted(5) == 6);
    of.add({}, {}, 0, "phases");
    CHECK(counted(6) == 6);
    of.add({}, {}, 0, "a phase of its own");
    CHECK(counted(7) == 7);
    of.add({0}, {}, 0, "rz");
    of.all->items.back()->type = of.other;
    CHECK(counted(8) == 8);
}

TEST_CASE("operands end behind the last one that an operation reads") {
    Operations of;
    CHECK(qx_structure_operands(of.all, of.type) == 0);
    of.add({0}, {}, 0);
    of.add({1}, {}, 0);
    for (Object* op : of.all->items) op->items[3] = of.heap.text("0123");
    of.all->items[0]->items[4] = of.heap.integer(9);
    of.all->items[1]->items[4] = of.heap.integer(2);
    CHECK(qx_structure_operands(of.all, of.type) == 13);
    of.all->items[0]->items[3] = of.heap.text("");  // reads nothing
    CHECK(qx_structure_operands(of.all, of.type) == 6);
    of.all->items[1]->type = of.other;
    CHECK(qx_structure_operands(of.all, of.type) == 0);
    CHECK(of.heap.is_balanced());
}

TEST_CASE("the text of operations is that of a tuple of them, part by part where there is little room") {
    Operations of;
    of.add({0}, {}, 0, "'h'");
    of.all->items.push_back(of.heap.text("Permutation(…)"));
    of.all->items.back()->type = of.other;
    of.add({1}, {}, 0, "'x'");
    const std::string h = "Op(mixes=(…), reads=(…), when=(…), pattern=b'01', operand=-37, name='h', unitary=True)";
    std::string expected = h + ", Permutation(…), " + h;
    expected[expected.rfind('h')] = 'x';
    for (const Int room : {Int{1000}, static_cast<Int>(h.size()) + 2}) {
        std::string found;
        std::vector<char> buffer(static_cast<std::size_t>(room));
        Int written = 0;
        for (Int place = 0; place < 3;) {
            const Int next = qx_structure_text(of.all, of.type, place, 3, buffer.data(), room, &written);
            REQUIRE(next > place);
            found.append(buffer.data(), static_cast<std::size_t>(written));
            place = next;
        }
        CHECK(found == expected);
        CHECK(of.heap.is_balanced());
    }
}
