// Sweeps over one state or over every row of a batch, shared among threads by tiles: no result depends on which thread
// ran which tile.

#include "kernels/sweep.hpp"

#include <cstdint>

#include "base/export.hpp"
#include "base/pool.hpp"
#include "kernels/flush.hpp"
#include "thresholds/table.hpp"

namespace qx::QX_SET {
namespace {

constexpr Int least_bits = 7;  // log2 of the amplitudes in whose time an instruction is read and its numbers looked up
constexpr Int chunks_each = 8;  // chunks of a thread, so that all end at nearly the same time

// A call of Python's: a sweep on `rows` states, one after the other in memory.
// numbers: [number_rows, number_count], real and imaginary parts in turn; of one row, if all states share them.
// cached_bytes: above that, what a sweep writes is not looked for in caches.
struct Call {
    const Program& program;
    char* state;
    Int rows;
    const double* numbers;
    Int number_rows;
    Int number_count;
    Int high;
    Int cached_bytes;
};

// Returns the index bits at whose 1 amplitudes are written past the caches: those of a growing state that memory did not
// hold before. To write them through the caches, all of them would be read first.
template <class Real>
Int streamed_bits(const Geometry& geometry, const Call& call, Int tiles) {
    Int bytes = (tiles * call.rows << geometry.row_bits) * Rows<Real>::bytes;
    bool aligned = reinterpret_cast<std::uintptr_t>(call.state) % QX_VECTOR_BYTES == 0;
    bool streams = geometry.store_direct && aligned && thresholds.past_caches.met(bytes > call.cached_bytes);
    return streams ? geometry.grown : 0;
}

template <class Real>
Int run(const Call& call, Int first_chunk, Int threads, Int microseconds) {
    const Program& program = call.program;
    const Geometry& geometry = *program.geometry;
    Int tiles = Int{1} << (geometry.num_bits - __builtin_popcountll(geometry.tile_mask));
    Int state_bytes = Int{2 * sizeof(Real)} << geometry.num_bits;
    std::size_t space = Workspace<Real>::bytes(geometry.row_bits);
    const std::size_t ways = space + static_cast<std::size_t>(program.coefficients) * sizeof(Real);
    const std::size_t with_coefficients = ways + static_cast<std::size_t>(program.num_instructions);

    // Coefficients that many tiles share are looked up once, behind the caller's workspace.
    char* mine = scratch(with_coefficients);
    if (!mine) return refused;
    // The coefficients in some memory, with the rotations among them.
    auto looked_up = [&](char* memory, const double* numbers) {
        Real* out = reinterpret_cast<Real*>(memory + space);
        expand<Real>(program, numbers, out);
        return find_turns<Real>(program, numbers, out, reinterpret_cast<unsigned char*>(memory + ways));
    };
    const bool is_shared = call.number_rows == 1;
    const Turns shared = is_shared ? looked_up(mine, call.numbers) : Turns();
    const std::size_t each = is_shared ? space : with_coefficients;
    Int streamed = streamed_bits<Real>(geometry, call, tiles);
    auto run_units = [&](Int first, Int last) {
        FlushSubnormals flushing;
        char* memory = scratch(each);
        Interpreter<Real> interpreter(program, memory, streamed);
        const Real* coefficients = reinterpret_cast<const Real*>((is_shared ? mine : memory) + space);
        for (Int row = first / tiles; row * tiles < last; ++row) {
            const Turns turns = is_shared ? shared : looked_up(memory, call.numbers + row * call.number_count);
            Int begin = first > row * tiles ? first - row * tiles : 0;
            Int end = last < (row + 1) * tiles ? last - row * tiles : tiles;
            interpreter.run(call.state + row * state_bytes, coefficients, turns, begin, end, call.high);
        }
    };
    Int units = tiles * call.rows;
    Int tile_bits = __builtin_popcountll(geometry.tile_mask);
    Int unit_work = (program.num_instructions + 1) << (tile_bits > least_bits ? tile_bits : least_bits);
    Int size = thresholds.chunk_work.at_most(units * unit_work) / unit_work;
    if (size > units / (chunks_each * threads)) size = units / (chunks_each * threads);
    if (size < 1) size = 1;
    Int chunks = (units + size - 1) / size;
    Int next = share({first_chunk, chunks, threads, microseconds, each},
                     [&](Int chunk) { run_units(chunk * size, (chunk + 1) * size < units ? (chunk + 1) * size : units); });
    return next < chunks ? next : 0;
}

}  // namespace
}  // namespace qx::QX_SET

// Runs a sweep from a chunk on, 0 at first, for about so many microseconds; returns the chunk to go on with, 0 if done, or
// `refused` before anything is changed.
QX_EXPORT_SET(run_sweep_single, (const qx::Program* program, char* state, qx::Int rows, const double* numbers,
                                 qx::Int number_rows, qx::Int number_count, qx::Int high, qx::Int cached_bytes,
                                 qx::Int first, qx::Int threads, qx::Int microseconds)) {
    return qx::QX_SET::run<float>({*program, state, rows, numbers, number_rows, number_count, high, cached_bytes}, first,
                                  threads, microseconds);
}
QX_EXPORT_SET(run_sweep_double, (const qx::Program* program, char* state, qx::Int rows, const double* numbers,
                                 qx::Int number_rows, qx::Int number_count, qx::Int high, qx::Int cached_bytes,
                                 qx::Int first, qx::Int threads, qx::Int microseconds)) {
    return qx::QX_SET::run<double>({*program, state, rows, numbers, number_rows, number_count, high, cached_bytes}, first,
                                   threads, microseconds);
}

// Returns log2 of the bits of a vector.
QX_EXPORT_SET(vector_bits, ()) { return qx::QX_SET::bits_of(8 * QX_VECTOR_BYTES); }
