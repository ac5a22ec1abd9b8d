// The tables of a run on a GPU that the device makes, in one launch or several.

#include "planner/encode/launches/launch_tables.hpp"

namespace qx::plan {

namespace {

constexpr Int other_arguments = 64;  // bytes of the other arguments of the kernels that make tables

}  // namespace

bool LaunchTables::lay_out(std::vector<Int> reals, std::vector<Int> starts) {
    reals_ = std::move(reals), starts_ = std::move(starts);
    return lay_out(0, reals_.size());
}

// Lays out a range of the reals, in two launches where no kernel takes so many factors by value.
bool LaunchTables::lay_out(std::size_t first, std::size_t last) {
    if (first == last) return true;
    const std::span takes = std::span(reals_).subspan(first, last - first);
    const Int end = 2 * numbers_.size();  // behind it are constants
    auto is_direct = [&](Int take) { return take < end && !numbers_.is_entry(take / 2); };
    std::vector<Int> direct;  // numbers that are no products; one that is taken twice is sent twice, which is rare
    for (Int take : takes) {
        if (!is_direct(take)) continue;
        if (static_cast<Int>(direct.size()) == setting_.limits[numbers_kernels - 1]) return in_halves(first, last);
        direct.push_back(take);
    }
    std::vector<Index> entries(static_cast<std::size_t>(numbers_.num_entries()));
    for (Int take : takes)
        if (take < end && !is_direct(take)) entries[numbers_.entry(take / 2)] = 1;
    std::vector<Int> factors;
    const std::vector<std::uint32_t> records = recorded(entries, takes.size(), factors);
    auto next_direct = static_cast<std::uint32_t>(factors.size());
    factors.insert(factors.end(), direct.begin(), direct.end());
    const Int most = static_cast<Int>(factors.size());
    int limit = 0;
    for (; limit < numbers_kernels; ++limit)
        if (most <= setting_.limits[limit] && 8 * setting_.limits[limit] + other_arguments <= setting_.room) break;
    if (limit == numbers_kernels) return in_halves(first, last);
    parts_.push_back({static_cast<Int>(first), static_cast<Int>(takes.size()), static_cast<Int>(sent_.size()),
                      static_cast<Int>(factors_.size()), most, limit});
    factors_.insert(factors_.end(), factors.begin(), factors.end());
    for (Int take : takes)
        sent_.push_back(take >= end       ? static_cast<Index>(take - end) << 2 | 3
                        : is_direct(take) ? next_direct++ << 2
                                          : entries[numbers_.entry(take / 2)] << 2 | static_cast<Index>(1 + take % 2));
    sent_.insert(sent_.end(), records.begin(), records.end());
    return true;
}

// Returns the records of those entries that are not 0, which become their places, and appends the factors of their tables.
// words: how many stand before the records.
std::vector<std::uint32_t> LaunchTables::recorded(std::vector<Index>& entries, std::size_t words,
                                                  std::vector<Int>& factors) const {
    std::vector<std::uint32_t> records;
    std::size_t number = 0;  // of an entry, counted from the first table
    for (const RunNumbers::Table& table : numbers_.tables()) {
        const auto first = static_cast<std::uint32_t>(factors.size() / 2);
        const std::uint64_t* bits = table.incidence;
        bool used = false;
        for (Int row = 0; row < table.entries; ++row, ++number, bits += table.words()) {
            if (!entries[number]) continue;
            used = true;
            entries[number] = static_cast<Index>(words + records.size());
            records.push_back(first), records.push_back(static_cast<std::uint32_t>(table.factors));
            for (Int k = 0; k < (table.factors + 31) / 32; ++k)
                records.push_back(static_cast<std::uint32_t>(bits[k / 2] >> k % 2 * 32));
        }
        for (Int k = 0; used && k < table.factors; ++k)
            factors.push_back(2 * static_cast<Int>(table.of[k])), factors.push_back(factors.back() + 1);
    }
    return records;
}

bool LaunchTables::in_halves(std::size_t first, std::size_t last) {
    const std::size_t half = middle(first, last);
    return half > first && lay_out(first, half) && lay_out(half, last);
}

// Returns where a range of reals is divided: where those of a sweep begin, nearest to its half, if they do.
std::size_t LaunchTables::middle(std::size_t first, std::size_t last) const {
    const std::size_t half = first + (last - first) / 2;
    std::size_t found = half, least = last;
    for (Int start : starts_) {
        const auto begin = static_cast<std::size_t>(start);
        const std::size_t away = begin < half ? half - begin : begin - half;
        if (first < begin && begin < last && away < least) found = begin, least = away;
    }
    return found;
}

}  // namespace qx::plan
