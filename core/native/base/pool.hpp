// The threads of this library: work is shared chunk by chunk, and a call lasts no longer than its caller allows.
//
//     Int next = share({first, chunks, threads, microseconds}, [&](Int chunk) { ... });
//
// Chunks are handed out in order, each to the next thread that is free. Python calls again with `next` as `first` until
// all chunks are done; between two calls it looks for Ctrl-C. Two Python threads may share work at once.
#pragma once

#include <cstddef>

#include "base/int.hpp"

namespace qx {

// What is shared: chunks `first` to `chunks` − 1, on up to `threads` threads, of which the caller's is one.
// microseconds: no chunk is begun after this time, except for the first of the caller; 0 for no limit.
struct Sharing {
    Int first;
    Int chunks;
    Int threads;
    Int microseconds;
};

// Calls `call(function, chunk)` for each chunk and returns the first one that was not called; all before it are done.
Int share(const Sharing& sharing, void (*call)(const void* function, Int chunk), const void* function);

template <class Function>
Int share(const Sharing& sharing, const Function& function) {
    auto call = [](const void* it, Int chunk) { (*static_cast<const Function*>(it))(chunk); };
    return share(sharing, +call, static_cast<const void*>(&function));
}

// Returns memory of this thread, on a cache line; the same for each call unless it has to grow. It is kept until the
// thread ends, since new memory would have to be brought into the cache.
char* scratch(std::size_t bytes);

}  // namespace qx
