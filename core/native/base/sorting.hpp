// Sorting that keeps the order of equals, with what the headers of the standard library have alone.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace qx::plan {

// Sorts values by `less`, equal ones in their order.
template <class Value, class Less>
void sort_stably(std::vector<Value>& values, Less less) {
    std::vector<std::size_t> order(values.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return less(values[a], values[b]) || (a < b && !less(values[b], values[a]));
    });
    std::vector<Value> out;
    out.reserve(values.size());
    for (std::size_t k : order) out.push_back(std::move(values[k]));
    values.swap(out);
}

// Sorts values in ascending order.
template <class Value>
void sort_ascending(std::vector<Value>& values) {
    std::sort(values.begin(), values.end(), [](const Value& a, const Value& b) { return a < b; });
}

}  // namespace qx::plan
