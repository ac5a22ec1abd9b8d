// Which bit of the work each index bit becomes in the end.

#include "planner/linear/goals.hpp"

namespace qx::plan {

std::vector<int> matched(const Vectors& now, const Vectors& goals, const std::vector<const Span*>& covers) {
    std::vector<int> to(now.size(), -1), free;
    for (std::size_t goal = 0; goal < goals.size(); ++goal) free.push_back(static_cast<int>(goal));
    Span same;
    for (std::size_t k = 0; k <= covers.size() && !free.empty(); ++k) {
        const Span& cover = k ? *covers[k - 1] : same;
        Vectors left;
        for (Mask goal : goals) left.push_back(cover.left(goal));
        for (std::size_t number = 0; number < now.size(); ++number) {
            if (to[number] >= 0) continue;
            Mask rest = cover.left(now[number]);
            auto found = std::find_if(free.begin(), free.end(), [&](int goal) { return left[at(goal)] == rest; });
            if (found == free.end()) continue;
            to[number] = *found;
            free.erase(found);
        }
    }
    std::size_t next = 0;
    for (int& goal : to)
        if (goal < 0) goal = free[next++];
    return to;
}

Vectors uncovered(const Map& directions, const Span& tiles, bool stays) {
    Vectors start = units(static_cast<int>(directions.size()));
    std::vector<int> to;
    if (!stays) to = matched(start, directions, {&tiles});
    Span lacks;
    for (std::size_t bit = 0; bit < start.size(); ++bit)
        lacks.add(tiles.left(start[bit] ^ directions[stays ? bit : at(to[bit])]));
    return lacks.vectors;
}

}  // namespace qx::plan
