// Memory that the system refuses ends the call that asked for it, and nothing else.
//
// An exported function that allocates does so in `guarded`, and its row in exports.def says what for. If memory is refused,
// control goes back to `guarded`, what was allocated since then and not freed is freed, and the function returns `refused`;
// qsim_ex.native.library raises OutOfMemory. No destructor runs on that way: one that does more than to free memory belongs
// to an `Undo`. Decision 0051 says why there are neither exceptions nor a status for each call.
#pragma once

#include <cstddef>
#include <limits>

#include "base/int.hpp"

namespace qx {

constexpr Int refused = std::numeric_limits<Int>::min();

// The header of allocated memory: a member of the ring of its ledger, or a ring of its own if nobody guards it.
struct Block {
    Block* before;
    Block* after;
};

// All memory that somebody has allocated and not freed, which ends with it. One thread at a time allocates and frees there.
class Ledger {
  public:
    Ledger() : first_{&first_, &first_} {}
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;
    ~Ledger() { release(); }

    void add(Block* block);
    // Takes all memory of another one.
    void take(Ledger& other);
    // Frees all of it.
    void release();

  private:
    Block first_;  // of a ring
};

// Ends the call, for which so many bytes were refused.
[[noreturn]] void refuse(std::size_t bytes);

// Does something when it ends, and also when memory is refused before: then while all memory is still there, the last one
// first. Only in `guarded`.
class Undo {
  public:
    Undo(void (*call)(const void* work), const void* work);
    template <class Work>
    explicit Undo(const Work& work) : Undo([](const void* it) { (*static_cast<const Work*>(it))(); }, &work) {}
    Undo(const Undo&) = delete;
    Undo& operator=(const Undo&) = delete;
    ~Undo();

  private:
    friend void refuse(std::size_t bytes);

    void (*call_)(const void* work);
    const void* work_;
    Undo* before_;
};

// Returns memory on a cache line, which is not set; does not return if it is refused.
void* aligned_memory(std::size_t bytes);
void free_aligned_memory(void* memory);

// Returns memory that no ledger knows, null if it is refused. `operator delete` frees it.
void* memory_or_null(std::size_t bytes);

// Whether a test wants the allocation that comes now to be refused; whoever asks the system for memory asks here first.
bool refuses();

// The bytes that were refused to this thread last.
std::size_t& refused_bytes();

// Calls `call(work)`; see `guarded`.
Int enter(Ledger& ledger, Int (*call)(const void* work), const void* work);

namespace {

// Calls `work()`, whose allocations are those of `ledger`; returns what it returns, or `refused`, and then the ledger has
// released its memory.
template <class Work>
Int guarded(Ledger& ledger, const Work& work) {
    return enter(ledger, [](const void* it) -> Int { return (*static_cast<const Work*>(it))(); }, &work);
}

// The same for work that keeps nothing that it allocates.
template <class Work>
Int guarded(const Work& work) {
    Ledger ledger;
    return guarded(ledger, work);
}

}  // namespace
}  // namespace qx
