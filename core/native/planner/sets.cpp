// The sets of values that a matrix mixes among themselves, as CPUs multiply it.

#include "planner/sets.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace qx::plan {

namespace {

constexpr std::size_t small = 4;  // more values than that are multiplied in memory, not in registers

// Joins sets whose sizes are no powers of two with smaller ones until they are; returns false if they cannot be.
bool join(std::vector<Mask>& sets) {
    std::sort(sets.begin(), sets.end(),
              [](Mask a, Mask b) { return count(a) != count(b) ? count(a) > count(b) : lowest(a) < lowest(b); });
    for (std::size_t k = 0; k < sets.size(); ++k) {
        const int size = static_cast<int>(std::bit_ceil(static_cast<unsigned>(count(sets[k]))));
        for (std::size_t other = k + 1; other < sets.size();) {
            if (count(sets[k]) + count(sets[other]) > size) {
                ++other;
                continue;
            }
            sets[k] |= sets[other];
            sets.erase(sets.begin() + static_cast<std::ptrdiff_t>(other));
        }
        if (count(sets[k]) != size) return false;
    }
    return true;
}

// Sets of values that are mixed among themselves, or several such sets, so that each size is a power of two.
std::vector<std::vector<int>> coupled(const Grid& grid) {
    std::vector<Mask> sets;  // of at most 64 values: a matrix in a sweep mixes at most five bits
    std::vector<Mask> joined(grid.size);
    for (int block = 0; block < grid.blocks(); ++block)
        for (int row = 0; row < grid.size; ++row)
            for (int column = 0; column < grid.size; ++column)
                if (grid(block, row, column) != zero) joined[row] |= unit(column), joined[column] |= unit(row);
    for (int value = 0; value < grid.size; ++value) {
        Mask own = joined[value] | unit(value), all = own;
        std::erase_if(sets, [&](Mask other) {
            if (other & own) all |= other;
            return other & own;
        });
        sets.push_back(all);
    }
    if (!join(sets)) sets = {below(grid.size)};
    std::sort(sets.begin(), sets.end(), [](Mask a, Mask b) { return lowest(a) < lowest(b); });
    std::vector<std::vector<int>> out;
    for (Mask set : sets) {
        out.emplace_back();
        each(set, [&](int value) { out.back().push_back(value); });
    }
    return out;
}

// The number of entries that are multiplied.
std::size_t entries(const std::vector<std::vector<int>>& sets) {
    std::size_t out = 0;
    for (const std::vector<int>& values : sets) out += values.size() * values.size();
    return out;
}

// For each set of columns, the rows that have entries in some of them; none if there is another number of them.
std::vector<std::pair<Mask, Mask>> rectangles(const Grid& grid) {
    std::vector<std::pair<Mask, Mask>> out;
    for (int row = 0; row < grid.size; ++row) {
        Mask rows = unit(row), columns = 0;
        for (int block = 0; block < grid.blocks(); ++block)
            for (int column = 0; column < grid.size; ++column)
                if (grid(block, row, column) != zero) columns |= unit(column);
        std::erase_if(out, [&](std::pair<Mask, Mask> other) {
            const bool meets = other.second & columns;
            if (meets) rows |= other.first, columns |= other.second;
            return meets;
        });
        out.emplace_back(rows, columns);
    }
    for (auto [rows, columns] : out)
        if (count(rows) != count(columns)) return {};
    return out;
}

// Where rows go behind a matrix that has them where their columns are: those that have entries there already stay.
std::vector<Index> moved_rows(const Grid& grid) {
    std::vector<Index> to(static_cast<std::size_t>(grid.size));
    std::iota(to.begin(), to.end(), Index{0});
    for (auto [rows, columns] : rectangles(grid)) {
        Mask left = rows & ~columns;
        each(columns & ~rows, [&](int value) {
            to[value] = lowest(left);
            left &= left - 1;
        });
    }
    return to;
}

}  // namespace

ValueSets value_sets(Interned::Bytes pattern, int num_bits) {
    Grid own{std::string(pattern), 1 << num_bits};
    std::vector<std::vector<int>> sets = coupled(own);
    if (std::any_of(sets.begin(), sets.end(), [](const auto& values) { return values.size() > small; })) {
        std::vector<Index> to = moved_rows(own);
        Grid other{moved_back(own.of, to), own.size};
        std::vector<std::vector<int>> fewer = coupled(other);
        // To move rows costs as much as an entry of each.
        if (entries(fewer) + to.size() < entries(sets)) return {std::move(fewer), std::move(other), std::move(to)};
    }
    return {std::move(sets), std::move(own), {}};
}

bool find_planes(const Grid& grid, const std::vector<int>& values, std::vector<int>& planes) {
    int size = static_cast<int>(values.size());
    int kinds[4][4] = {};  // bit 0: some entry is real, bit 1: some entry is imaginary
    for (int block = 0; block < grid.blocks(); ++block)
        for (int r = 0; r < size; ++r)
            for (int c = 0; c < size; ++c) {
                char entry = grid(block, values[r], values[c]);
                if (entry == complex_) return false;
                kinds[r][c] |= entry == imag ? 2 : entry != zero;
            }
    planes.assign(size, -1);
    for (int start = 0; start < size; ++start) {
        if (planes[start] >= 0) continue;
        planes[start] = 0;
        std::vector<int> stack{start};
        while (!stack.empty()) {
            int r = stack.back();
            stack.pop_back();
            for (int c = 0; c < size; ++c) {
                int kind = kinds[r][c] | kinds[c][r];
                if (!kind) continue;
                int wanted = planes[r] ^ kind >> 1;
                if (kind == 3 || (planes[c] >= 0 && planes[c] != wanted)) return false;
                if (planes[c] < 0) planes[c] = wanted, stack.push_back(c);
            }
        }
    }
    return true;
}

long work_of_rows(Interned::Bytes pattern, int size, bool in_vectors) {
    const std::size_t row = static_cast<std::size_t>(size);
    long out = 0;
    if (!in_vectors || row < small || pattern.size() > row * row) {
        for (std::size_t at = 0; at < pattern.size(); at += row) out += row_work(pattern.substr(at, row));
        return out;
    }
    const ValueSets cut = value_sets(pattern, std::countr_zero(row));
    std::vector<int> planes;
    for (const std::vector<int>& values : cut.sets) {
        const long number = static_cast<long>(values.size());
        if (values.size() < small) {
            for (int value : values) out += row_work(cut.of.row(value));
        } else {
            const bool is_real = values.size() == small && find_planes(cut.of, values, planes);
            out += (is_real ? 2 : 4) * number * number;
        }
    }
    return out;
}

}  // namespace qx::plan
