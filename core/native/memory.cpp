// Large copies, shared among threads: one core does not reach the bandwidth of memory, and new pages are made by the
// core that touches them first.

#include <unistd.h>

#include <cstring>

#include "pool.hpp"

namespace {

constexpr qx::Int piece = 1 << 20;  // bytes of a chunk: some 100 µs

template <class Function>
qx::Int in_pieces(qx::Int bytes, qx::Int first, qx::Int threads, qx::Int microseconds, const Function& function) {
    qx::Int chunks = (bytes + piece - 1) / piece;
    qx::Int next = qx::share({first, chunks, threads, microseconds}, [&](qx::Int chunk) {
        qx::Int begin = chunk * piece, left = bytes - begin;
        function(begin, static_cast<std::size_t>(left < piece ? left : piece));
    });
    return next < chunks ? next : 0;
}

}  // namespace

// Copies bytes from a chunk on, 0 at first, for about so many microseconds; returns the chunk to go on with, 0 if done.
QX_EXPORT(copy)(char* to, const char* from, qx::Int bytes, qx::Int first, qx::Int threads, qx::Int microseconds) {
    return in_pieces(bytes, first, threads, microseconds, [&](qx::Int begin, std::size_t size) {
        std::memcpy(to + begin, from + begin, size);
    });
}

// Writes zeros; as `copy`.
QX_EXPORT(clear)(char* to, qx::Int bytes, qx::Int first, qx::Int threads, qx::Int microseconds) {
    return in_pieces(bytes, first, threads, microseconds, [&](qx::Int begin, std::size_t size) {
        std::memset(to + begin, 0, size);
    });
}

// Returns the bytes of the last cache; 0 if the system does not tell.
QX_EXPORT(last_cache)() {
#if defined(_SC_LEVEL3_CACHE_SIZE)
    return sysconf(_SC_LEVEL3_CACHE_SIZE);
#else
    return 0;
#endif
}
