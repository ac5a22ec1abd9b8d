// Tests of long sweeps: what their parts do, and with which numbers.

#include "planner/tiles/long_sweeps.hpp"

#include <algorithm>

#include "planner/naive.test.hpp"
#include "thresholds/table.hpp"

using namespace qx;
using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

// The numbers of an item in some steps, which begin behind those of the step before.
std::vector<Index> numbers_of(const StepArrays& steps, std::size_t step, const Item& item) {
    const auto begin = steps.packed.begin() + (step ? steps.steps[step - 1].packed : 0) + item.slot;
    return {begin, begin + item.count};
}

// Real matrices on bits 3 and 4 in turn, each behind a table of two phases, and a step that is no sweep before and behind.
struct Long {
    explicit Long(PlanContext& given, int matrices) : context(given) {
        shape.registers = 2, shape.edge = 2, shape.low = 2, shape.most_blocks = -1;
        const std::vector<char> dense(4, real), phases(2, complex_);
        const Index matrix = context.patterns.of({dense.data(), 4}), table = context.patterns.of({phases.data(), 2});
        Step sweep{};
        sweep.type = Step::sweep, sweep.tile = 0b11111, sweep.fresh = 0b110000;
        add_fill();
        for (int k = 0; k < matrices; ++k) {
            if (k % 4 == 0) steps.register_blocks.push_back({0b11000, items(), 0});
            add(Kind::diagonal, table, 0, tables), add(Kind::mix, matrix, 3 + k % 2, numbers);
            steps.register_blocks.back().end = items();
        }
        sweep.end = static_cast<Int>(steps.register_blocks.size());
        sweep.numbers = static_cast<Int>(numbers.size()), sweep.tables = static_cast<Int>(tables.size());
        for (Item& item : steps.items) item.slot += item.num_reads ? sweep.numbers : 0;
        steps.packed.insert(steps.packed.end(), numbers.begin(), numbers.end());
        steps.packed.insert(steps.packed.end(), tables.begin(), tables.end());
        sweep.packed = static_cast<Int>(steps.packed.size());
        sweep.words = static_cast<Int>(context.words.size()), sweep.num_bits = 5;
        for (int bit : {1, 0, 2, 3, 4}) context.words.push_back(unit(bit));
        steps.steps.push_back(sweep);
        add_fill();
    }

    Int items() const { return static_cast<Int>(steps.items.size()); }
    void add_fill() {
        Step fill{};
        fill.type = Step::zero_fill, fill.packed = static_cast<Int>(steps.packed.size());
        steps.steps.push_back(fill);
    }
    void add(Kind kind, Index pattern, int bit, std::vector<Index>& into) {
        Item item{};
        item.kind = static_cast<Int>(kind), item.pattern = pattern;
        item.num_bits = kind == Kind::mix, item.num_reads = kind == Kind::diagonal;
        item.words = static_cast<Int>(context.words.size());
        if (item.num_bits) context.words.push_back(unit(bit)), context.words.push_back(unit(bit));
        else context.words.push_back(0b101);
        item.slot = static_cast<Int>(into.size()), item.count = kind == Kind::mix ? 4 : 2;
        for (Int k = 0; k < item.count; ++k) into.push_back(next_++);
        steps.items.push_back(item);
    }

    PlanContext& context;
    StepArrays steps;
    Shape shape{};
    std::vector<Index> numbers, tables;

  private:
    Index next_ = 100;
};

struct Instead {
    Instead(Int kilobytes, Int bits) { thresholds.code_kilobytes = kilobytes, thresholds.code_bits = bits; }
    ~Instead() { thresholds.code_kilobytes = kilobytes_, thresholds.code_bits = bits_; }

  private:
    const Int kilobytes_ = thresholds.code_kilobytes, bits_ = thresholds.code_bits;
};

}  // namespace

TEST_CASE("the parts of a long sweep have its items in their order, each with its numbers") {
    const Instead instead(10, 4);
    Drawn drawn(1, 8);
    Long before(drawn.context, 23), after = before;
    const std::vector<std::size_t> ends = cut_long_sweeps(after.steps, 8, after.shape, drawn.context);
    REQUIRE(ends.size() == 3);
    const std::size_t parts = ends[1] - ends[0];
    CHECK(parts > 2);
    CHECK(ends[2] == after.steps.steps.size());
    std::size_t number = 0;
    for (std::size_t step = ends[0]; step < ends[1]; ++step) {
        const Step& part = after.steps.steps[step];
        CHECK(part.tile == before.steps.steps[1].tile);
        CHECK(part.fresh == (step == ends[0] ? 0b110000 : 0b100000));
        CHECK(part.num_bits == (step + 1 == ends[1] ? 5 : 0));
        CHECK(part.packed - after.steps.steps[step - 1].packed == part.numbers + part.tables);
        for (Int k = part.begin; k < part.end; ++k) {
            const RegisterBlock& block = after.steps.register_blocks[static_cast<std::size_t>(k)];
            for (Int at = block.begin; at < block.end; ++at, ++number) {
                const Item &item = after.steps.items[static_cast<std::size_t>(at)], &was = before.steps.items[number];
                CHECK(item.words == was.words);
                CHECK(numbers_of(after.steps, step, item) == numbers_of(before.steps, 1, was));
            }
        }
    }
    CHECK(number == before.steps.items.size());
    CHECK(after.steps.packed.size() == before.steps.packed.size());
}

TEST_CASE("edge bits are not in registers where a part begins or ends") {
    const Instead instead(4, 4);
    Drawn drawn(1, 8);
    Long one(drawn.context, 12);
    for (RegisterBlock& block : one.steps.register_blocks) block.registers = 0b00011;
    const std::vector<std::size_t> ends = cut_long_sweeps(one.steps, 8, one.shape, drawn.context);
    REQUIRE(ends.size() == 3);
    for (std::size_t step = ends[0]; step < ends[1]; ++step) {
        const Step& part = one.steps.steps[step];
        const auto at = [&](Int k) { return one.steps.register_blocks[static_cast<std::size_t>(k)]; };
        if (step > ends[0]) CHECK(at(part.begin).registers == 0b11000);
        if (step + 1 < ends[1]) CHECK(at(part.end - 1).registers == 0b11000);
    }
}

TEST_CASE("sweeps stay that are short, small, or computed as vectors") {
    Drawn drawn(1, 8);
    const Long long_one(drawn.context, 23);
    auto parts = [&](Int kilobytes, Int bits, double item_work, int most_blocks = -1) {
        const Instead instead(kilobytes, bits);
        Long one = long_one;
        one.shape.item_work = item_work, one.shape.most_blocks = most_blocks;
        return cut_long_sweeps(one.steps, 8, one.shape, drawn.context).size();
    };
    CHECK(parts(10, 7, 0) == 3);
    CHECK(parts(10, 8, 0) == 0);  // a fresh bit outside of the tile halves what is visited
    CHECK(parts(1000, 4, 0) == 0);
    CHECK(parts(10, 4, 1) == 0);
    CHECK(parts(10, 4, 0, 3) == 0);
}
