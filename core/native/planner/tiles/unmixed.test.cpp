// Tests of unmixed bits: which fresh bits of a tile are a sum of others throughout a sweep.

#include "planner/tiles/unmixed.hpp"

#include "planner/naive.test.hpp"
#include "thresholds/table.hpp"

using namespace qx;
using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

// A sweep over bits 0 to 5, of which the last two are fresh, whose items are made one after another.
struct OneSweep {
    explicit OneSweep(PlanContext& given) : context(given) { sweep.tile = 0b111111, sweep.fresh = 0b110000, sweep.end = 1; }

    void add(Kind kind, int bit, Mask when, Mask read = 0) {
        Item item{};
        item.kind = static_cast<Int>(kind), item.num_bits = kind != Kind::diagonal, item.num_reads = read != 0;
        item.words = static_cast<Int>(context.words.size()), item.when_mask = item.when_value = static_cast<Int>(when);
        if (item.num_bits) context.words.push_back(unit(bit)), context.words.push_back(unit(bit));
        context.words.push_back(read);
        item.to = static_cast<Int>(context.values.size());
        context.values.push_back(1), context.values.push_back(0);
        steps.items.push_back(item);
    }
    int unmixed() {
        steps.register_blocks = {{0, 0, static_cast<Int>(steps.items.size())}};
        return count_unmixed(sweep, steps, context, shape);
    }

    PlanContext& context;
    StepArrays steps;
    Step sweep{};
    Shape shape{};
};

}  // namespace

TEST_CASE("a fresh bit is unmixed as long as it is a sum of other bits of the tile, and nothing depends on it") {
    const Threshold::Int least = thresholds.unmixed_tile;
    thresholds.unmixed_tile = 0;
    Drawn drawn(1, 6);
    OneSweep one(drawn.context);
    one.add(Kind::mix, 1, 0);
    one.add(Kind::diagonal, 0, 0, 0b100010);  // reads a bit that is 0
    CHECK(one.unmixed() == 2);
    one.add(Kind::permute, 5, 0b000010);  // CX onto it
    one.add(Kind::permute, 1, 0b000100);  // and onto the control of that
    CHECK(one.unmixed() == 2);
    one.shape.item_work = 1;  // amplitudes are computed as vectors
    CHECK(one.unmixed() == 0);
    one.shape.item_work = 0;
    thresholds.unmixed_tile = 5;
    CHECK(one.unmixed() == 1);
    thresholds.unmixed_tile = 0;
    one.add(Kind::diagonal, 0, 0, 0b100001);  // reads what CX put there
    CHECK(one.unmixed() == 1);
    one.add(Kind::permute, 4, unit(9));  // by a bit outside of the tile
    CHECK(one.unmixed() == 0);
    OneSweep mixed(drawn.context);
    mixed.add(Kind::permute, 5, 0b000100);
    mixed.add(Kind::mix, 2, 0);  // the control is mixed behind it
    mixed.add(Kind::mix, 4, 0);
    CHECK(mixed.unmixed() == 0);
    thresholds.unmixed_tile = least;
}
