// Where in memory a growing state lies before each sweep, found backwards from a plain end.

#include "planner/linear/backward.hpp"

namespace qx::plan {

namespace {

// Returns the layout before a sweep; adds to `fresh` the bits by which the state grows in it.
Map layout_before(const TileVisit& visit, const Map& after, int low, Mask& fresh) {
    Basis rows;
    for (Mask direction : visit.tile) rows.add(image(after, direction));
    Vectors ascending(rows.begin(), rows.end());
    std::reverse(ascending.begin(), ascending.end());
    Span mixed(visit.mixed), there(visit.lanes);
    for (Mask direction : visit.tile)
        if (mixed.has(direction)) there.add(direction);
    there.add_all(common(visit.tile, visit.mixed));
    Vectors names = there.vectors, grown;
    for (Mask direction : visit.tile)
        if (mixed.add(direction)) grown.push_back(direction);
    std::size_t first_grown = names.size();
    if (visit.mixed.empty()) {  // nothing has been read yet, so the lanes are free: they are what work mixes last
        names.assign(grown.end() - low, grown.end());
        grown.resize(grown.size() - at(low));
        first_grown = 0;
    }
    names.insert(names.end(), grown.begin(), grown.end());
    for (std::size_t k = first_grown; k < ascending.size(); ++k) fresh |= unit(highest(ascending[k]));
    Vectors images = ascending;
    Span span(names);
    auto keep = [&](Mask direction) {
        if (!span.add(direction)) return;
        names.push_back(direction);
        images.push_back(rows.left(image(after, direction)));
    };
    for (Mask direction : visit.mixed) keep(direction);
    for (std::size_t bit = 0; bit < after.size(); ++bit) keep(Mask{1} << bit);
    Map out;
    for (Mask column : inverse(names)) out.push_back(image(images, column));
    return out;
}

}  // namespace

std::vector<Around> placed(const std::vector<TileVisit>& visits, Map end, Mask fresh, int low) {
    std::vector<Around> out;
    for (auto visit = visits.rbegin(); visit != visits.rend(); ++visit) {
        Map before = layout_before(*visit, end, low, fresh);
        out.push_back({before, end, fresh});
        end.swap(before);
    }
    std::reverse(out.begin(), out.end());
    return out;
}

}  // namespace qx::plan
