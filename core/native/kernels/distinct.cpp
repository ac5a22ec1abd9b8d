// The rows of packed bits that differ, and how often each comes: shots of circuits have few outcomes, as a rule.

#include <cstring>

#include "base/export.hpp"
#include "base/interned.hpp"
#include "thresholds/table.hpp"

namespace {

using qx::Int;

constexpr std::size_t slots = 4096;  // of the table, a power of 2

std::uint64_t hash(const std::uint8_t* row, Int width) {
    std::uint64_t found = 0, word = 0;
    for (; width >= 8; width -= 8, row += 8) {
        std::memcpy(&word, row, 8);
        found = qx::plan::mixed(found ^ word);
    }
    for (word = 0; width > 0; --width) word = word << 8 | row[width - 1];
    return qx::plan::mixed(found ^ word);
}

}  // namespace

// rows [count, width]: the bits. places, counts [thresholds.distinct_rows]: where each distinct row is first, and how
// often it comes. Returns how many distinct rows there are; -1 if they are more than that.
QX_EXPORT(distinct_rows, (const std::uint8_t* rows, Int count, Int width, Int* places, Int* counts)) {
    std::int16_t table[slots];  // the number of the distinct row of each hash, and 1
    std::memset(table, 0, sizeof table);
    Int found = 0;
    const auto size = static_cast<std::size_t>(width);
    for (Int k = 0; k < count; ++k) {
        const std::uint8_t* row = rows + k * width;
        std::size_t at = hash(row, width) & (slots - 1);
        while (table[at] && std::memcmp(row, rows + places[table[at] - 1] * width, size)) at = (at + 1) & (slots - 1);
        if (!table[at]) {
            if (found >= qx::thresholds.distinct_rows) return -1;
            places[found] = k;
            counts[found] = 0;
            table[at] = static_cast<std::int16_t>(++found);
        }
        ++counts[table[at] - 1];
    }
    return found;
}
