// The application of a matrix to rows: the rows it couples, and the source of each coefficient.

#include "planner/encode/codes.hpp"

#include <utility>

#include "planner/sets.hpp"

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

CutMatrix cut(Interned::Bytes pattern, int num_bits, int num_reads) {
    ValueSets sets = value_sets(pattern, num_bits);
    Codes real_part, imag_part;
    entry_codes(pattern, num_reads > 0, real_part, imag_part);
    if (!sets.to.empty()) real_part = moved_back(real_part, sets.to), imag_part = moved_back(imag_part, sets.to);
    CutMatrix out{{}, std::move(sets.to)};
    const Grid& grid = sets.of;
    for (const std::vector<int>& values : sets.sets) {
        bool changes = values.size() > 1;
        for (int block = 0; block < grid.blocks(); ++block) changes = changes || grid(block, values[0], values[0]) != one;
        if (changes) out.blocks.push_back(block_of(grid, values, real_part, imag_part));
    }
    return out;
}

}  // namespace qx::plan
