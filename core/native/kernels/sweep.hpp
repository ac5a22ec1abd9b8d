// The interpreter of encoded sweeps: for each tile, load it into rows, run the instructions, store it.
#pragma once

#include "kernels/rows/lanes.hpp"
#include "kernels/rows/turns.hpp"

namespace qx::QX_SET {

inline Int parity(Int value) { return __builtin_parityll(static_cast<unsigned long long>(value)); }

// Spreads the bits of `number` over the bits in `mask`.
inline Int placed(Int number, Int mask) {
    Int out = 0;
    for (Int left = mask; left; left &= left - 1, number >>= 1) out |= (number & 1) ? left & -left : 0;
    return out;
}

// Looks up all coefficients of a sweep, one for each lane. numbers: real and imaginary parts in turn.
template <class Real>
void expand(const Program& program, const double* numbers, Real* out) {
    constexpr int n = lanes<Real>;
    for (Int f = 0; f < program.num_fills; ++f) {
        const Fill& fill = program.fills[f];
        const double* own = numbers + 2 * fill.slot;
        auto number = [&](Int code) { return static_cast<Real>(looked_up(own, code)); };
        const Int* columns = program.integers + fill.lane_columns;
        Int selects[n] = {};  // for each lane, what it flips in the number of its block
        bool alike = fill.lane_mask == 0;
        for (int bit = 0; bit < lane_bits<Real>; ++bit) {
            alike &= columns[bit] == 0;
            for (int lane = 0; lane < 1 << bit; ++lane) selects[lane | 1 << bit] = selects[lane] ^ columns[bit];
        }
        const std::int32_t* codes = program.codes + fill.from;
        const std::int32_t* identity = program.codes + fill.identity;
        Real* to = out + fill.to;
        for (Int k = 0, block = 0; k < fill.blocks; ++k) {
            for (Int entry = 0; entry < fill.entries; ++entry) {
                if (fill.splat || alike) {
                    Real value = number(codes[block * fill.entries + entry]);
                    for (int lane = 0; lane < (fill.splat ? 1 : n); ++lane) *to++ = value;
                    continue;
                }
                for (int lane = 0; lane < n; ++lane) {
                    bool acts = (lane & fill.lane_mask) == fill.lane_value;
                    *to++ = number(acts ? codes[(block ^ selects[lane]) * fill.entries + entry] : identity[entry]);
                }
            }
            block = ((block | ~fill.kept) + 1) & fill.kept;  // the next number in the bits of the mask
        }
    }
}

// The memory of one thread while it runs a sweep: a tile, the rows behind it for the inputs of one large matrix, and
// tables over rows.
template <class Real>
struct Workspace {
    static constexpr Int aside_rows = 32;
    char* tile;
    char* aside;
    Int* high;              // [rows >> low_rows]
    Int low[low_mask + 1];

    static std::size_t tile_bytes(Int row_bits) { return ((Int{1} << row_bits) + aside_rows) * Rows<Real>::bytes; }

    // The bytes of all of it, whole cache lines.
    static std::size_t bytes(Int row_bits) {
        std::size_t rows = std::size_t{1} << row_bits, high = (rows >> low_rows) + 1;
        return (tile_bytes(row_bits) + high * sizeof(Int) + 63) / 64 * 64;
    }

    Workspace(char* memory, Int row_bits) : tile(memory), aside(memory + (Rows<Real>::bytes << row_bits)) {
        high = reinterpret_cast<Int*>(memory + tile_bytes(row_bits));
    }
};

// Runs one program; a thread has its own, and its own workspace.
template <class Real>
class Interpreter {
    static constexpr Int row_bytes = Rows<Real>::bytes, amplitude_bytes = 2 * sizeof(Real), vector_bytes = row_bytes / 2;
    static constexpr Int rows_ahead = 32;  // by which prefetching is ahead of loading; 16 to 64 were equally fast

  public:
    // streamed: see `streamed_bits`.
    Interpreter(const Program& program, char* memory, Int streamed)
        : program(program), geometry(*program.geometry), rows(Int{1} << geometry.row_bits),
          load_places(program.integers + geometry.load), store_places(program.integers + geometry.store), streamed(streamed),
          space(memory, geometry.row_bits) {}

    // Runs tiles `first` to `last` − 1 of a state. high: the value of the index bits outside of the state. turns: those
    // whose tangents are among the coefficients.
    void run(char* state, const Real* coefficients, const Turns& turns, Int first, Int last, Int high) {
        left_real = static_cast<Real>(turns.real), left_imag = static_cast<Real>(turns.imag);
        Int outside = ((Int{1} << geometry.num_bits) - 1) & ~geometry.tile_mask;
        Int place = placed(first, outside);
        for (Int tile = first; tile < last; ++tile) {
            index = place | high << geometry.num_bits;
            Int from = place ^ moved(place, geometry.load_base), to = place ^ moved(index, geometry.store_base);
            if (geometry.load_direct) load_rows(state, from, tile > first && program.num_instructions);
            else load_lanes(state, from);
            Int following = ((place | ~outside) + 1) & outside, ahead = following ^ moved(following, geometry.load_base);
            Int count = program.num_instructions;
            for (Int k = 0, next = 0; k < count; k = next) {
                const Instruction* it = program.instructions + k;
                const unsigned char* ways = turns.ways ? turns.ways + k : nullptr;
                Int together = joined(*it, ways ? *ways : NO_TURN);
                next = k + together;
                // A part of the next tile is fetched meanwhile, so that memory works while we compute; and of what this one
                // writes where it has not read.
                const Int begin = rows * k / count, end = rows * next / count;
                if (geometry.load_direct && following) prefetch(load_places, state, ahead, begin, end);
                if (ways && *ways == NOTHING) continue;
                if (ways && *ways == TURNED) run_turned(*it, coefficients);
                else if (together > 1 || (ways && *ways != NO_TURN)) run_together(it, together, ways, coefficients);
                else run_instruction(*it, coefficients);
            }
            if (geometry.store_direct) store_rows(state, to);
            else store_lanes(state, to);
            place = following;
        }
        if (streamed) after_streaming();
    }

  protected:  // of kernels that take several states through a sweep
    const Program& program;
    const Geometry& geometry;
    const Int rows;
    const Int* const load_places;
    const Int* const store_places;
    const Int streamed;
    Workspace<Real> space;
    Int index = 0;  // of the tile's first amplitude, with the bits outside of the state
    Real left_real = 1, left_imag = 0;  // by which amplitudes are multiplied as they are stored

    // Multiplies amplitudes by the scale: numbers or vectors of them.
    template <class Value>
    QX_INLINE void scale(Value& real, Value& imag) const {
        if (left_imag == 0) {
            real *= left_real, imag *= left_real;
            return;
        }
        const Value x = real, y = imag;
        real = x * left_real - y * left_imag, imag = x * left_imag + y * left_real;
    }

    // How much further a tile begins in memory than its index says: a map may add to each bit of it.
    Int moved(Int tile, Int base) const {
        if (base < 0) return 0;
        Int out = 0;
        for (Int left = tile; left; left &= left - 1) out ^= program.integers[base + __builtin_ctzll(left)];
        return out;
    }

    // By how many bytes rows differ in this tile, since CX have added bits outside it to some positions.
    Int origin(Int masks) const {
        if (masks < 0) return 0;
        Int out = 0;
        for (Int bit = 0; bit < geometry.row_bits; ++bit) out |= parity(index & program.integers[masks + bit]) << bit;
        return out * row_bytes;
    }

    // The place of a row relative to its tile's first amplitude: both are XORed, since a tile may be any subspace.
    static Int place_of(const Int* places, Int row) {
        return places[row & low_mask] ^ places[low_mask + 1 + (row >> low_rows)];
    }

    void prefetch(const Int* places, const char* state, Int tile, Int first, Int last) const {
        for (Int row = first; row < last; ++row) {
            Int place = place_of(places, row);
            if (place >= nowhere) continue;
            for (Int line = 0; line < row_bytes; line += 64) {
                __builtin_prefetch(state + (tile ^ place) * amplitude_bytes + line, 0, 2);
            }
        }
    }

    // Calls `function(place in the tile's memory, place of the row relative to the tile's first amplitude)` for each row.
    template <class Function>
    QX_INLINE void each_row(const Int* places, const Function& function) const {
        char* here = space.tile;
        const Int size = rows < low_mask + 1 ? rows : low_mask + 1;
        for (const Int *high = places + low_mask + 1, *end = high + rows / size; high < end; ++high) {
            for (Int row = 0; row < size; ++row, here += row_bytes) function(here, places[row] ^ *high);
        }
    }

    // Loads amplitudes into rows that are vectors in memory too. fetched: whether they were prefetched.
    void load_rows(const char* state, Int tile, bool fetched) {
        Int soon = fetched ? rows : rows_ahead;
        each_row(load_places, [&](char* here, Int place) __attribute__((always_inline)) {
            if (soon < rows) prefetch(load_places, state, tile, soon, soon + 1), ++soon;
            Vector<Real> real{}, imag{};
            if (place < nowhere) split<Real>(state + (tile ^ place) * amplitude_bytes, real, imag);
            at<Real>(here) = real;
            at<Real>(here + vector_bytes) = imag;
        });
    }

    void store_rows(char* state, Int tile) const {
        Int soon = geometry.grown && !streamed ? rows_ahead : rows;
        each_row(store_places, [&](char* here, Int from) __attribute__((always_inline)) {
            Vector<Real> real = at<Real>(here), imag = at<Real>(here + vector_bytes);
            if (soon < rows) prefetch(store_places, state, tile, soon, soon + 1), ++soon;
            scale(real, imag);
            Int place = tile ^ from;
            if (place & streamed) merge<Real, true>(real, imag, state + place * amplitude_bytes);
            else merge<Real>(real, imag, state + place * amplitude_bytes);
        });
    }

    // Loads amplitudes one by one, if lanes are anywhere in memory; padding is zero.
    void load_lanes(const char* state, Int tile) {
        const Int* lane_places = program.integers + geometry.load_lanes;
        const Real* amplitudes = reinterpret_cast<const Real*>(state);
        Real* to = reinterpret_cast<Real*>(space.tile);
        for (Int row = 0; row < rows; ++row, to += 2 * lanes<Real>) {
            Int place = tile ^ place_of(load_places, row);
            for (int lane = 0; lane < lanes<Real>; ++lane) {
                Int here = place ^ lane_places[lane];
                to[lane] = here < nowhere ? amplitudes[2 * here] : 0;
                to[lane + lanes<Real>] = here < nowhere ? amplitudes[2 * here + 1] : 0;
            }
        }
    }

    void store_lanes(char* state, Int tile) const {
        const Int* lane_places = program.integers + geometry.store_lanes;
        Real* amplitudes = reinterpret_cast<Real*>(state);
        const Real* from = reinterpret_cast<const Real*>(space.tile);
        for (Int row = 0; row < rows; ++row, from += 2 * lanes<Real>) {
            Int place = tile ^ place_of(store_places, row);
            for (int lane = 0; lane < lanes<Real>; ++lane) {
                Int here = place ^ lane_places[lane];
                if (here >= nowhere) continue;
                Real real = from[lane], imag = from[lane + lanes<Real>];
                scale(real, imag);
                amplitudes[2 * here] = real, amplitudes[2 * here + 1] = imag;
            }
        }
    }

    // Fills the two tables whose XOR is the block that a row selects, as an offset in bytes. Offsets XOR as the numbers
    // of blocks do, since a block is a power of two.
    void select(const Instruction& instruction, Int block_bytes) {
        const Int* columns = program.integers + instruction.columns;
        Int block = columns[geometry.row_bits + instruction.reads];
        for (Int k = 0; k < instruction.reads; ++k) block ^= parity(index & columns[geometry.row_bits + k]) << k;
        space.low[0] = block * block_bytes;
        space.high[0] = 0;
        for (Int bit = 0; bit < geometry.row_bits; ++bit) {
            Int* table = bit < low_rows ? space.low : space.high;
            Int size = Int{1} << (bit < low_rows ? bit : bit - low_rows), column = columns[bit] * block_bytes;
            for (Int x = 0; x < size; ++x) table[size + x] = table[x] ^ column;
        }
    }

    bool acts(const Instruction& it) const { return (index & it.outside_mask) == it.outside_value; }

    // How many instructions from one on are done together. way: of `Turns`; without one they are matrices.
    static Int joined(const Instruction& it, unsigned char way) {
        if (!is_joined(it)) return 1;
        return way != NO_TURN || (many_registers && it.kind == Kind::PAIR_REAL) ? it.size : 1;
    }

    // Runs instructions that are joined. ways: of each of them.
    void run_together(const Instruction* first, Int count, const unsigned char* ways, const Real* coefficients) {
        constexpr Int plane = sizeof(Vector<Real>);
        const Instruction& it = *first;
        const bool turned = ways && *ways != NO_TURN;
        unsigned crossed = 0;
        Int free = it.free;
        for (Int k = 0; k < count; ++k) {
            free &= first[k].free;
            crossed |= static_cast<unsigned>(turned ? ways[k] == CROSSED : (first[k].offsets[1] & plane) != 0) << k;
        }
        const Int* steps = it.columns < 0 ? nullptr : program.integers + it.columns;
        Rows<Real> where{space.tile, steps, free, it.fixed ^ origin(it.origin), 2 * it.count >> count};
        auto run = [&](auto size) {
            if (turned) run_joined<Real, size, true>(where, first, crossed, coefficients);
            else if constexpr (many_registers) run_joined<Real, size, false>(where, first, crossed, coefficients);
        };
        if (count == 1) return run(std::integral_constant<int, 1>());
        if (count == 2) return run(std::integral_constant<int, 2>());
        if constexpr (QX_VECTOR_BYTES == 64) run(std::integral_constant<int, 3>());
    }

    void run_turned(const Instruction& it, const Real* coefficients) const {
        const Int* steps = it.steps < 0 ? nullptr : program.integers + it.steps;
        Rows<Real> where{space.tile, steps, it.free, it.fixed ^ origin(it.origin), it.count};
        const Real* table = coefficients + it.table;
        if (turned_bits(it) == 3) return turned_triple<Real>(where, program.integers + it.offsets[0], table);
        turned_pair<Real>(where, it.offsets, reinterpret_cast<const char*>(table));
    }

    void run_instruction(const Instruction& it, const Real* coefficients) {
        if (!acts(it)) return;
        if (it.reads) select(it, it.block * Int{sizeof(Real)});
        const Int* steps = it.steps < 0 ? nullptr : program.integers + it.steps;
        Rows<Real> where{space.tile, steps, it.free, it.fixed ^ origin(it.origin), it.count};
        const char* first = reinterpret_cast<const char*>(coefficients + it.table);
        Table table{first, it.reads ? space.low : nullptr, space.high};
        const Half* offsets = it.offsets;
        switch (it.kind) {
            case Kind::QUAD_COMPLEX: return complex_matrix<Real, 4>(where, offsets, table);
            case Kind::PAIR_COMPLEX: return complex_matrix<Real, 2>(where, offsets, table);
            case Kind::QUAD_REAL:
                real_matrix<Real, 4, 1>(where, offsets, table);
                table.at += 16 * vector_bytes;
                return real_matrix<Real, 4, 1>(where, offsets + 4, table);
            case Kind::PAIR_REAL: return real_matrix<Real, 2, 2>(where, offsets, table);
            case Kind::SCALE_COMPLEX:
                if (it.per_lane) return complex_matrix<Real, 1, true>(where, offsets, table);
                return complex_matrix<Real, 1, false>(where, offsets, table);
            case Kind::SCALE_REAL:
                if (it.per_lane) return scale_real<Real, true>(where, table);
                return scale_real<Real, false>(where, table);
            case Kind::DENSE: {
                const Int* listed = program.integers + it.offsets[0];
                if (it.per_lane) return dense<Real, true>(where, listed, it.size, table, space.aside);
                return dense<Real, false>(where, listed, it.size, table, space.aside);
            }
            case Kind::EXCHANGE: return exchange_rows<Real>(where, offsets[0], offsets[1]);
            case Kind::LANES: return exchange_lanes_of<Real>(it.size, where, offsets);
        }
    }
};

}  // namespace qx::QX_SET
