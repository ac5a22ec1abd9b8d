// The threads of this library: work is shared chunk by chunk, and a call lasts no longer than its caller allows.
//
//     Int next = share({first, chunks, threads, microseconds}, [&](Int chunk) { ... });
//
// Chunks are handed out in order, each to the next thread that is free. Python calls again with `next` as `first` until
// all chunks are done; between two calls it looks for Ctrl-C. Two Python threads may share work at once.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/refusal.hpp"

namespace qx {

// What is shared: chunks `first` to `chunks` − 1, on up to `threads` threads, of which the caller's is one.
// microseconds: no chunk is begun after this time, except for the first of the caller; 0 for no limit.
// scratch: so many bytes of `scratch` each thread has before its first chunk. So what is changed in place is changed whole:
// nothing begins if the caller's thread is refused them, and other threads that are leave the chunks to the rest.
struct Sharing {
    Int first;
    Int chunks;
    Int threads;
    Int microseconds;
    std::size_t scratch = 0;
};

// Calls `call(function, chunk)` for each chunk, which does not allocate. Returns the first one that was not called; all
// before it are done. Returns `refused`, and then none was called, without scratch memory.
Int share(const Sharing& sharing, void (*call)(const void* function, Int chunk), const void* function);

template <class Function>
Int share(const Sharing& sharing, const Function& function) {
    auto call = [](const void* it, Int chunk) { (*static_cast<const Function*>(it))(chunk); };
    return share(sharing, +call, static_cast<const void*>(&function));
}

// The same for chunks that allocate memory and free it. If some is refused to one of them, no more begin, and it returns
// `refused` when the others are done.
template <class Function>
Int share_allocating(const Sharing& sharing, const Function& function) {
    std::atomic<bool> lacks{false};
    std::atomic<std::size_t> bytes{0};
    const Int next = share(sharing, [&](Int chunk) {
        if (lacks.load(std::memory_order_relaxed)) return;
        if (guarded([&] { return function(chunk), Int{0}; }) != refused) return;
        bytes.store(refused_bytes());
        lacks.store(true);
    });
    if (!lacks.load()) return next;
    refused_bytes() = bytes.load();
    return refused;
}

// Returns memory of this thread, on a page, null if it is refused; the same for each call unless it has to grow. It is kept
// until the thread ends, since new memory would have to be brought into the cache.
char* scratch(std::size_t bytes);

}  // namespace qx
