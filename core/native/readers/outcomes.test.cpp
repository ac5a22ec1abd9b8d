// Tests of outcomes in binary and their counts, against texts written bit by bit and counted one by one.

#include <doctest.h>

#include <map>
#include <string>
#include <vector>

#include "base/int.hpp"
#include "readers/python.test.hpp"

using qx::Int;
using qx::python::Object;
using qx::python::fake::Heap;

extern "C" Int qx_outcomes_counted(const std::uint8_t* packed, const Int* counts, Int shots, Int width, Int bits,
                                   const Int* ends, Int num_ends, Object* dictionary);

namespace {

using Found = std::vector<std::pair<std::string, Int>>;

Found found;                 // what was set, in order
std::vector<Object*> spare;  // what is made next: the function cannot allocate objects
bool full = false;           // whether the dictionary refuses entries

Object* next() {
    Object* made = spare.back();
    spare.pop_back();
    return ++made->references, made;
}

// Returns what the function sets for some rows.
Found of(const std::vector<std::vector<std::uint8_t>>& rows, Int bits, const std::vector<Int>& ends,
         const Int* counts = nullptr) {
    Heap heap;
    spare.clear();
    for (std::size_t k = 0; k < 2 * rows.size(); ++k) {
        spare.push_back(heap.integer(0));
        spare.back()->text.reserve(100);
    }
    found.clear();
    found.reserve(rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k) found.emplace_back(std::string(100, ' '), 0);
    static std::size_t at;
    at = 0;
    qx::python::call.new_text = [](const char* letters, Int size) {
        Object* made = next();
        made->text.assign(letters, static_cast<std::size_t>(size));
        return made;
    };
    qx::python::call.new_integer = [](long long value) {
        Object* made = next();
        made->number = static_cast<double>(value);
        return made;
    };
    qx::python::call.set_item = [](Object*, Object* key, Object* value) {
        if (full) return -1;
        found[at].first.assign(key->text);
        found[at++].second = static_cast<Int>(value->number);
        return 0;
    };
    std::vector<std::uint8_t> packed;
    for (const auto& row : rows) packed.insert(packed.end(), row.begin(), row.end());
    const Int width = rows.empty() ? 1 : static_cast<Int>(rows[0].size());
    const Int said = qx_outcomes_counted(packed.data(), counts, static_cast<Int>(rows.size()), width, bits, ends.data(),
                                         static_cast<Int>(ends.size()), nullptr);
    CHECK(said == (full ? -1 : 0));
    CHECK(heap.is_balanced());
    found.resize(at);
    return found;
}

}  // namespace

TEST_CASE("rows of any width are counted in increasing order, and written with the highest bit first") {
    std::uint32_t state = 1;
    const auto drawn = [&] { return state = state * 1664525 + 1013904223, state >> 16; };
    for (const Int bits : {1, 5, 8, 9, 28, 64, 65, 90}) {
        const auto width = static_cast<std::size_t>(bits + 7) / 8;
        std::vector<std::vector<std::uint8_t>> rows;
        std::map<std::string, Int> expected;  // texts of one length ascend as the integers do
        for (int shot = 0; shot < 200; ++shot) {
            std::vector<std::uint8_t> row(width);
            for (Int bit = 0; bit < bits; ++bit)
                if (bit % 7 < 2)
                    row[static_cast<std::size_t>(bit / 8)] |= static_cast<std::uint8_t>((drawn() & 1) << bit % 8);
            std::string text;
            for (Int bit = bits - 1; bit >= 0; --bit)
                text += row[static_cast<std::size_t>(bit / 8)] >> bit % 8 & 1 ? '1' : '0';
            ++expected[text];
            rows.push_back(row);
        }
        CHECK(of(rows, bits, {bits}) == Found(expected.begin(), expected.end()));
    }
}

TEST_CASE("a space stands at the end of each part but the last, and parts may be empty") {
    CHECK(of({{0b10110}}, 5, {2, 5}) == Found{{"10 110", 1}});
    CHECK(of({{0b10110}}, 5, {0, 2, 2, 5, 5}) == Found{{" 10  110 ", 1}});
}

TEST_CASE("rows that stand for several shots are counted so often") {
    const Int counts[] = {3, 4, 5};
    CHECK(of({{2}, {1}, {2}}, 2, {2}, counts) == Found{{"01", 4}, {"10", 8}});
    CHECK(of({}, 2, {2}).empty());
}

TEST_CASE("an exception ends the work, and no reference is kept") {
    full = true;
    of({{2}, {1}}, 2, {2});
    full = false;
}
