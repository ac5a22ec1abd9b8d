#include "planner/encode/launches/number_schedule.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/matrix_rows.hpp"

namespace qx::plan {

namespace {

constexpr Index zero_at = 0, one_at = 1;  // of qsim_ex.circuit.circuit

// Returns j if 16 places are those of row j of the unit matrix, and -1 if not.
Int unit_row(const Index* places) {
    Int found = -1;
    for (Int j = 0; j < row_size; ++j) {
        if (places[j] == one_at && found < 0) found = j;
        else if (places[j] != zero_at) return -1;
    }
    return found;
}

}  // namespace

Int appended(const Instruction& row) {
    switch (row.type) {
        case Instruction::product: return row.count * row.blocks * row.size * row.columns;
        case Instruction::euler: return 7 * row.count;
        default: return row.count * row.entries;
    }
}

NumberSchedule::NumberSchedule(const CoefficientArrays& numbers, Int num_operands, std::vector<Int> first, Int launches,
                               std::vector<TableEntry> entries, RunWords& out)
    : numbers_(numbers), entries_(std::move(entries)), out_(out) {
    auto soonest = [&](const TableEntry& entry) { return first[static_cast<std::size_t>(entry.place)]; };
    std::sort(entries_.begin(), entries_.end(), [&](const TableEntry& a, const TableEntry& b) {
        return std::pair(soonest(a), a.place) < std::pair(soonest(b), b.place);
    });
    for (const TableEntry& entry : entries_) {
        soonest_.push_back(soonest(entry));
        for (Int k = entry.factors; k < entry.factors + entry.count; ++k) {
            Int& at = first[static_cast<std::size_t>(out.places[static_cast<std::size_t>(k)])];
            at = std::min(at, soonest_.back());
        }
    }
    Int at = num_operands;
    for (const Instruction& row : numbers.program) {
        if (row.type != Instruction::fold) works_.push_back(work(row, at));
        at += appended(row);
    }
    for (auto work = works_.rbegin(); work != works_.rend(); ++work) order(*work, first, launches);
}

// Sorts the pieces of some work by the first launch that needs them, for which their factors are needed too.
void NumberSchedule::order(Work& work, std::vector<Int>& first, Int launches) const {
    const auto pieces = static_cast<std::size_t>(work.pieces), end = static_cast<std::size_t>(launches);
    std::vector<Int> soonest(pieces, launches);
    work.begins.assign(end + 2, 0);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        auto results = first.begin() + work.results + static_cast<std::ptrdiff_t>(piece) * work.made;
        soonest[piece] = *std::min_element(results, results + work.made);
        ++work.begins[static_cast<std::size_t>(soonest[piece]) + 1];
        auto need = [&](Int place) {
            Int& at = first[static_cast<std::size_t>(place)];
            at = std::min(at, soonest[piece]);
        };
        const std::int32_t* listed = work.listed.data() + piece * static_cast<std::size_t>(work.width);
        switch (work.kind) {
            case eulers_word: std::for_each(listed, listed + 4, need); break;
            case products_word: std::for_each(listed + 1, listed + work.width, need); break;
            default:  // rows
                for (Int k = 1, left = work.tail[0] * work.tail[0]; k < work.width; ++k)
                    for (Int j = 0; listed[k] >= 0 && j < (k <= left ? 1 : row_size); ++j) need(listed[k] + j);
        }
    }
    std::partial_sum(work.begins.begin(), work.begins.end(), work.begins.begin());
    std::vector<std::size_t> next = work.begins;
    work.order.resize(pieces);
    for (std::size_t piece = 0; piece < pieces; ++piece)
        work.order[next[static_cast<std::size_t>(soonest[piece])]++] = piece;
}

void NumberSchedule::before(Int launch) {
    for (const Work& work : works_) {
        const std::size_t begin = work.begins[static_cast<std::size_t>(launch)];
        const std::size_t end = work.begins[static_cast<std::size_t>(launch) + 1];
        if (begin == end) continue;
        out_.add(work.kind, out_.next_place(), end - begin);
        out_.words.insert(out_.words.end(), work.tail.begin(), work.tail.end());
        for (std::size_t k = begin; k < end; ++k) {
            auto listed = work.listed.begin() + static_cast<std::ptrdiff_t>(work.order[k]) * work.width;
            out_.places.insert(out_.places.end(), listed, listed + work.width);
        }
    }
    for (; next_entry_ < entries_.size() && soonest_[next_entry_] <= launch; ++next_entry_) {
        const TableEntry& entry = entries_[next_entry_];
        out_.add(entry_word, entry.place, entry.factors, entry.count);
    }
}

// Returns the work of an instruction that is no table; products of rows of 16 numbers are made matrix by matrix.
NumberSchedule::Work NumberSchedule::work(const Instruction& row, Int results) const {
    const Index* places = numbers_.places.data() + row.at;
    Work made{};
    if (row.type == Instruction::euler) {
        made = {eulers_word, row.count, results, 7, 5, {row.blocks}, {}, {}, {}};
        for (Int k = 0; k < row.count; ++k) {
            made.listed.insert(made.listed.end(), places + 4 * k, places + 4 * k + 4);
            made.listed.push_back(static_cast<std::int32_t>(results + 7 * k));
        }
        return made;
    }
    if (!in_rows(row)) return entries_of(row, results);
    const Int pieces = row.count * row.blocks, left = row.size * row.size, right = row.size * row.columns;
    const Index* rows = places + pieces * left;
    made = {rows_word, pieces, results, right, 1 + left + right / row_size, {row.size, row.columns / row_size}, {}, {}, {}};
    for (Int piece = 0; piece < pieces; ++piece, places += left) {
        made.listed.push_back(static_cast<std::int32_t>(results + piece * right));
        made.listed.insert(made.listed.end(), places, places + left);
        for (Int k = 0; k < right / row_size; ++k, rows += row_size) {
            const Int unit = unit_row(rows);
            made.listed.push_back(static_cast<std::int32_t>(unit < 0 ? Int{rows[0]} : -1 - unit));
        }
    }
    return made;
}

// Returns whether the right factors of products are rows of 16 numbers behind one another, or of the unit matrix.
bool NumberSchedule::in_rows(const Instruction& row) const {
    if (row.columns % row_size || row.size > row_size) return false;
    const Int pieces = row.count * row.blocks;
    const Index* rows = numbers_.places.data() + row.at + pieces * row.size * row.size;
    for (const Index* end = rows + pieces * row.size * row.columns; rows < end; rows += row_size) {
        bool whole = true;
        for (Index j = 0; j < row_size; ++j) whole = whole && rows[j] == rows[0] + j;
        if (!whole && unit_row(rows) < 0) return false;
    }
    return true;
}

// Returns products entry by entry, each a sum of as many terms as the longest has; terms with a factor 0 stand last.
NumberSchedule::Work NumberSchedule::entries_of(const Instruction& row, Int results) const {
    const Index* places = numbers_.places.data() + row.at;
    const Int pieces = row.count * row.blocks, size = row.size, columns = row.columns;
    const Index *lefts = places, *rights = places + pieces * size * size;
    auto left = [&](Int piece, Int i, Int k) { return lefts[(piece * size + i) * size + k]; };
    auto right = [&](Int piece, Int k, Int j) { return rights[(piece * size + k) * columns + j]; };
    auto each_entry = [&](auto&& work) {
        for (Int piece = 0; piece < pieces; ++piece)
            for (Int i = 0; i < size; ++i)
                for (Int j = 0; j < columns; ++j) work(piece, i, j);
    };
    auto is_zero = [&](Int piece, Int i, Int k, Int j) {
        return left(piece, i, k) == zero_at || right(piece, k, j) == zero_at;
    };
    Int terms = 1;
    each_entry([&](Int piece, Int i, Int j) {
        Int count = 0;
        for (Int k = 0; k < size; ++k) count += !is_zero(piece, i, k, j);
        terms = std::max(terms, count);
    });
    Work made{products_word, pieces * size * columns, results, 1, 1 + 2 * terms, {terms}, {}, {}, {}};
    made.listed.reserve(static_cast<std::size_t>(made.pieces * made.width));
    Int result = results;
    each_entry([&](Int piece, Int i, Int j) {
        made.listed.push_back(static_cast<std::int32_t>(result++));
        Int room = terms;
        for (bool zeros : {false, true})
            for (Int k = 0; k < size && room; ++k) {
                if (is_zero(piece, i, k, j) != zeros) continue;
                made.listed.push_back(static_cast<std::int32_t>(left(piece, i, k)));
                made.listed.push_back(static_cast<std::int32_t>(right(piece, k, j)));
                --room;
            }
    });
    return made;
}

}  // namespace qx::plan
