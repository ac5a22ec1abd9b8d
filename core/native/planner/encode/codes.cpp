// The application of a matrix to rows: the rows it couples, and the source of each coefficient.

#include "planner/encode/codes.hpp"

#include <algorithm>
#include <bit>

namespace qx::plan {

namespace {

// Returns the code of the negative of an imaginary part, which is a number or 0.
Int negative(Int code) { return code == zero_code ? zero_code : code ^ 1; }

// The codes of the real and the imaginary part of each entry. dense: whether constants too have a place among the
// numbers.
void entry_codes(Interned::Bytes pattern, bool dense, Codes& real_part, Codes& imag_part) {
    real_part.assign(pattern.size(), zero_code);
    imag_part.assign(pattern.size(), zero_code);
    Int place = 0;
    for (std::size_t k = 0; k < pattern.size(); ++k) {
        Int number = dense ? static_cast<Int>(k) : place;
        char entry = pattern[k];
        place += numbered(entry);
        if (entry == one) real_part[k] = one_code;
        if (entry == minus_one) real_part[k] = minus_one_code;
        if (entry == real || entry == complex_) real_part[k] = 4 * number;
        if (entry == imag || entry == complex_) imag_part[k] = 4 * number + 2;
    }
}

// A matrix [blocks, size, size] of classes.
struct Grid {
    Interned::Bytes of;
    int size;
    int blocks() const { return static_cast<int>(of.size()) / (size * size); }
    char operator()(int block, int row, int column) const { return of[(block * size + row) * size + column]; }
};

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

// Sets 0 or 1 for each value, with real entries between equal ones and all others imaginary; false if impossible.
//
// Then the matrix is D R D^-1 with R real and D = diag(i^planes), and D only permutations the planes of a row.
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

MatrixBlock block_of(const Grid& grid, const std::vector<int>& values, const Codes& real_part, const Codes& imag_part) {
    MatrixBlock out{values, {}, {}};
    int size = static_cast<int>(values.size());
    auto at = [&](int block, int r, int c) {
        return static_cast<std::size_t>((block * grid.size + values[r]) * grid.size + values[c]);
    };
    Codes& codes = out.table.codes;
    Codes& identity = out.table.identity;
    if ((size == 2 || size == 4) && find_planes(grid, values, out.planes)) {
        // A row with planes = 1 stands for -i times itself: its first plane is its imaginary part, its second plane the
        // negative of its real part.
        const std::vector<int>& p = out.planes;
        for (int block = 0; block < grid.blocks(); ++block)
            for (int second = 0; second < 2; ++second)
                for (int r = 0; r < size; ++r)
                    for (int c = 0; c < size; ++c) {
                        std::size_t k = at(block, r, c);
                        Int code = p[r] == p[c] ? real_part[k] : p[r] ? imag_part[k] : negative(imag_part[k]);
                        codes.push_back(second && p[r] != p[c] ? negative(code) : code);
                    }
        for (int k = 0; k < 2 * size * size; ++k) identity.push_back(k % (size * size) % (size + 1) ? zero_code : one_code);
        return out;
    }
    out.planes.clear();
    int rows = size > 4 ? 4 : 1;  // four outputs at a time, column after column: see `four_outputs` of the kernels
    auto each_entry = [&](auto act) {
        for (int group = 0; group < size; group += rows)
            for (int c = 0; c < size; ++c)
                for (int r = group; r < group + rows; ++r) act(r, c);
    };
    for (int block = 0; block < grid.blocks(); ++block)
        each_entry([&](int r, int c) {
            codes.push_back(real_part[at(block, r, c)]);
            codes.push_back(imag_part[at(block, r, c)]);
        });
    each_entry([&](int r, int c) {
        identity.push_back(r == c ? one_code : zero_code);
        identity.push_back(zero_code);
    });
    return out;
}

}  // namespace

CodeTable diagonal_codes(Interned::Bytes pattern) {
    CodeTable out;
    bool ones = true, reals = true;
    for (char entry : pattern) {
        ones = ones && entry == one;
        reals = reals && entry != imag && entry != complex_;
    }
    if (ones) return out;
    Codes real_part, imag_part;
    entry_codes(pattern, true, real_part, imag_part);
    if (reals) {
        out.codes = real_part, out.identity = {one_code};
        return out;
    }
    out.codes.resize(2 * pattern.size());
    for (std::size_t k = 0; k < pattern.size(); ++k) out.codes[2 * k] = real_part[k], out.codes[2 * k + 1] = imag_part[k];
    out.identity = {one_code, zero_code};
    return out;
}

std::vector<MatrixBlock> matrix_blocks(Interned::Bytes pattern, int num_bits, int num_reads) {
    Grid grid{pattern, 1 << num_bits};
    Codes real_part, imag_part;
    entry_codes(pattern, num_reads > 0, real_part, imag_part);
    std::vector<MatrixBlock> out;
    for (const std::vector<int>& values : coupled(grid)) {
        bool changes = values.size() > 1;
        for (int block = 0; block < grid.blocks(); ++block) changes = changes || grid(block, values[0], values[0]) != one;
        if (changes) out.push_back(block_of(grid, values, real_part, imag_part));
    }
    return out;
}

}  // namespace qx::plan
