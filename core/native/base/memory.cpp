// Large copies, shared among threads: one core does not reach the bandwidth of memory, and new pages are made by the
// core that touches them first.

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/export.hpp"
#include "base/pool.hpp"
#include "thresholds/table.hpp"

namespace {

template <class Function>
qx::Int in_pieces(qx::Int bytes, qx::Int first, qx::Int threads, qx::Int microseconds, const Function& function) {
    const qx::Int piece = qx::thresholds.chunk_bytes.at_most(std::max(bytes, qx::Int{1})),
                  chunks = (bytes + piece - 1) / piece;
    qx::Int next = qx::share({first, chunks, threads, microseconds}, [&](qx::Int chunk) {
        qx::Int begin = chunk * piece, left = bytes - begin;
        function(begin, static_cast<std::size_t>(std::min(left, piece)));
    });
    return next < chunks ? next : 0;
}

// Calls function(row, first byte, bytes) for all of `rows` runs of `width` bytes: parts of long runs, and many short
// ones in a chunk. `job` says at which chunk to begin, and has room for the number of all.
template <class Function>
qx::Int runs_in_pieces(qx::Int rows, qx::Int width, qx::Sharing job, const Function& function) {
    const qx::Int piece = qx::thresholds.chunk_bytes;
    if (width >= qx::thresholds.chunk_bytes) {
        qx::Int each = (width + piece - 1) / piece;
        job.chunks = rows * each;
        qx::Int next = qx::share(job, [&](qx::Int chunk) {
            qx::Int at = chunk % each * piece;
            function(chunk / each, at, std::min(piece, width - at));
        });
        return next < job.chunks ? next : 0;
    }
    qx::Int together = piece / width;
    job.chunks = (rows + together - 1) / together;
    qx::Int next = qx::share(job, [&](qx::Int chunk) {
        for (qx::Int row = chunk * together; row < std::min(rows, (chunk + 1) * together); ++row) function(row, 0, width);
    });
    return next < job.chunks ? next : 0;
}

constexpr std::size_t line = 64, ahead = 2048;  // bytes of a cache line, and how early lines are asked for

struct Line {
    char bytes[line];
};

// Swaps bytes that do not overlap, through registers: each line is read once and written once, in the cache. (Stores
// past the cache took twice as long, and copies through a third memory 1.2 to 2 times.)
void swap_bytes(char* mine, char* theirs, std::size_t size) {
    std::size_t at = 0;
    for (; at + line <= size; at += line) {
        __builtin_prefetch(mine + at + ahead, 1);
        __builtin_prefetch(theirs + at + ahead, 1);
        Line left, right;
        std::memcpy(&left, mine + at, line);
        std::memcpy(&right, theirs + at, line);
        std::memcpy(mine + at, &right, line);
        std::memcpy(theirs + at, &left, line);
    }
    std::swap_ranges(mine + at, mine + size, theirs + at);
}

}  // namespace

// Copies bytes from a chunk on, 0 at first, for about so many microseconds; returns the chunk to go on with, 0 if done.
QX_EXPORT(copy, (char* to, const char* from, qx::Int bytes, qx::Int first, qx::Int threads, qx::Int microseconds)) {
    return in_pieces(bytes, first, threads, microseconds,
                     [&](qx::Int begin, std::size_t size) { std::memcpy(to + begin, from + begin, size); });
}

// Writes zeros; as `copy`.
QX_EXPORT(clear, (char* to, qx::Int bytes, qx::Int first, qx::Int threads, qx::Int microseconds)) {
    return in_pieces(bytes, first, threads, microseconds,
                     [&](qx::Int begin, std::size_t size) { std::memset(to + begin, 0, size); });
}

// Copies `rows` runs of `width` bytes, which begin `to_stride` and `from_stride` bytes apart; as `copy`.
QX_EXPORT(copy_rows, (char* to, const char* from, qx::Int rows, qx::Int width, qx::Int to_stride, qx::Int from_stride,
                      qx::Int first, qx::Int threads, qx::Int microseconds)) {
    return runs_in_pieces(rows, width, {first, 0, threads, microseconds}, [&](qx::Int row, qx::Int at, qx::Int size) {
        std::memcpy(to + row * to_stride + at, from + row * from_stride + at, static_cast<std::size_t>(size));
    });
}

// Swaps `rows` runs of `width` bytes, `stride` bytes apart, with as many of other memory; as `copy`.
QX_EXPORT(swap, (char* mine, char* theirs, qx::Int rows, qx::Int width, qx::Int stride, qx::Int first, qx::Int threads,
                 qx::Int microseconds)) {
    return runs_in_pieces(rows, width, {first, 0, threads, microseconds}, [&](qx::Int row, qx::Int at, qx::Int size) {
        swap_bytes(mine + row * stride + at, theirs + row * stride + at, static_cast<std::size_t>(size));
    });
}

// Returns the bytes of the last cache; 0 if the system does not tell.
QX_EXPORT(last_cache, ()) {
#if defined(_SC_LEVEL3_CACHE_SIZE)
    return sysconf(_SC_LEVEL3_CACHE_SIZE);
#else
    return 0;
#endif
}
