// Tests of keys of gates: other wires, and their wires as tuples.

#include "readers/read_gates.hpp"

#include <doctest.h>

#include <vector>

#include "readers/python.test.hpp"

using qx::Int;
using qx::on_wire;
using qx::python::Object;
using qx::python::fake::Heap;

extern "C" Int qx_keys_moved(const std::uint64_t* keys, Int count, const Int* to, std::uint64_t* out);
extern "C" Int qx_keys_wires(const std::uint64_t* keys, Int count, Object* list);

namespace {

std::vector<Object*> spare;  // what is made next

}  // namespace

TEST_CASE("keys are those of the same gates on other wires") {
    const Int to[] = {3, 0, 12000};
    const std::uint64_t keys[] = {7, 255 | on_wire(2, 0), 1 | on_wire(1, 0) | on_wire(0, 1) | on_wire(2, 2)};
    std::uint64_t out[3];
    CHECK(qx_keys_moved(keys, 3, to, out) == 0);
    CHECK(out[0] == 7);
    CHECK(out[1] == (255 | on_wire(12000, 0)));
    CHECK(out[2] == (1 | on_wire(0, 0) | on_wire(3, 1) | on_wire(12000, 2)));
}

TEST_CASE("the wires of keys are tuples in the order of the gate, and one for all keys with the same wires") {
    Heap heap;
    while (spare.size() < 20) spare.push_back(heap.tuple({}));  // as `Heap::room` says, readers cannot allocate objects
    qx::python::call.new_tuple = [](Int size) {
        Object* made = spare.back();
        spare.pop_back();
        made->items.resize(static_cast<std::size_t>(size));
        return made;
    };
    qx::python::call.set_tuple_item = [](Object* of, Int place, Object* value) {
        of->items[static_cast<std::size_t>(place)] = value;
        return 0;
    };
    qx::python::call.new_integer = [](long long value) {
        Object* made = spare.back();
        spare.pop_back();
        made->number = static_cast<double>(value);
        return made;
    };
    Object* list = heap.tuple({});
    const std::uint64_t keys[] = {3 | on_wire(5, 0) | on_wire(1, 1), 4, 9 | on_wire(5, 0) | on_wire(1, 1),
                                  3 | on_wire(1, 0) | on_wire(5, 1)};
    CHECK(qx_keys_wires(keys, 4, list) == 0);
    REQUIRE(list->items.size() == 4);
    const auto wires = [&](std::size_t k) {
        std::vector<Int> found;
        for (const Object* wire : list->items[k]->items) found.push_back(static_cast<Int>(wire->number));
        return found;
    };
    CHECK(wires(0) == std::vector<Int>{5, 1});
    CHECK(wires(1).empty());
    CHECK(list->items[2] == list->items[0]);
    CHECK(wires(3) == std::vector<Int>{1, 5});
    CHECK(list->items[0]->references == 2);
    CHECK(list->items[3]->references == 1);
    spare.clear();
}
