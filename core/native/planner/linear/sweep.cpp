// One sweep over a subspace, from its tile and its work.

#include "planner/linear/sweep.hpp"

#include "planner/linear/coordinates.hpp"

namespace qx::plan {

namespace {

// Writes work in the coordinates of a tile; the directions that it mixes first are positions.
Coordinates written(const FramedWork& work, const TileVisit& visit, const Around& around, int low, PlanContext& context) {
    std::vector<Oriented> basis;
    auto add = [&](Mask direction, Mask row) { basis.push_back({image(around.before, direction), row}); };
    Vectors used;
    for (Index number : visit.work)
        for (int k = 0; k < work[number].piece.num_mixed; ++k) {
            Mask direction = work.directions(work[number])[k];
            if (std::find(used.begin(), used.end(), direction) != used.end()) continue;
            used.push_back(direction);
            add(direction, work.rows(work[number])[k]);
        }
    for (Mask direction : visit.tile) add(direction, 0);
    Coordinates made(inverse(around.before), basis, low, around.fresh, context);
    for (Index number : visit.work) made.place(work, work[number]);
    return made;
}

}  // namespace

bool LinearSweeps::write(const TileVisit& visit, const Around& around) {
    Coordinates made = written(work_, visit, around, shape_.low, context_);
    Map store = made.arrive(around.after, shape_.in_vectors());
    Directions edges{};
    each(made.tile, [&](int bit) {
        if (store[at(bit)] < unit(shape_.edge)) edges.units |= unit(bit);
    });
    std::vector<WorkOutline> outlines(made.work.begin(), made.work.end());
    blocks_.begin(Pending::of(outlines), {made.tile}, {below(shape_.edge)}, edges);
    while (!blocks_.advance()) {
    }
    if (!blocks_.left().empty()) return false;
    Step step{};
    step.tile = static_cast<Int>(made.tile), step.fresh = static_cast<Int>(around.fresh);
    auto put = [&](const Map& columns, Int& words, Int& size) {
        words = static_cast<Int>(context_.words.size()), size = static_cast<Int>(columns.size());
        context_.words.insert(context_.words.end(), columns.begin(), columns.end());
    };
    if (made.load != units(static_cast<int>(made.load.size()))) put(made.load, step.loads, step.num_loads);
    if (store != made.load) put(store, step.words, step.num_bits);
    blocks_.write(step, made.work, shape_.making(static_cast<int>(visit.mixed.size())));
    return true;
}

}  // namespace qx::plan
