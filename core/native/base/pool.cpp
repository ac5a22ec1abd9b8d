#include "base/pool.hpp"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if !defined(__APPLE__)
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include <atomic>
#include <cstdint>
#include <new>

#include "thresholds/table.hpp"

namespace qx {
namespace {

using Word = std::atomic<std::uint32_t>;

constexpr Int spin_nanoseconds = 50'000;  // as long as Python needs between two sweeps of a plan
constexpr int slots = 8;                  // callers at once whose work is shared; others work alone
constexpr Int most_threads = 1024;

Int now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return Int{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#if defined(__APPLE__)
// The futex of macOS, by which its C++ library waits too; no header has it.
extern "C" int __ulock_wait(std::uint32_t operation, void* word, std::uint64_t value, std::uint32_t microseconds);
extern "C" int __ulock_wake(std::uint32_t operation, void* word, std::uint64_t value);
constexpr std::uint32_t compare_and_wait = 1;

void sleep_while(Word& word, std::uint32_t value) { __ulock_wait(compare_and_wait, &word, value, 0); }

void wake(Word& word, int threads) {
    for (int k = 0; k < threads; ++k) __ulock_wake(compare_and_wait, &word, 0);
}
#else
void sleep_while(Word& word, std::uint32_t value) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake(Word& word, int threads) { syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0); }
#endif

// Waits until `word` is no longer `value`: busily at first, since sleeping and waking take as long as a small sweep.
// sleepers: how many threads have gone to sleep over the word; who changes it wakes them if there are any.
void wait_while(Word& word, std::uint32_t value, Word& sleepers) {
    for (Int end = now() + spin_nanoseconds; now() < end;) {
        for (int k = 0; k < 64; ++k) {
            if (word.load() != value) return;
            pause();
        }
    }
    ++sleepers;
    while (word.load() == value) sleep_while(word, value);
    --sleepers;
}

// Wakes two threads, which wake others in turn: waking all takes longer than a small sweep.
void call_helpers();

// The work of one caller. A helper joins by taking a ticket; the caller withdraws the tickets that are left and waits
// for the helpers inside. Other fields are written while there are neither tickets nor helpers.
struct alignas(64) Slot {
    std::atomic<bool> taken{false};
    Word state{0};  // tickets + inside · `helper`
    Word sleepers{0};
    void (*call)(const void*, Int) = nullptr;
    const void* function = nullptr;
    Int chunks = 0;
    Int deadline = 0;  // 0: none
    std::size_t scratch = 0;
    alignas(64) std::atomic<Int> next{0};

    static constexpr std::uint32_t helper = 1u << 16, tickets = helper - 1;

    bool expired() const { return deadline != 0 && now() >= deadline; }

    void work() {
        do {
            Int chunk = next.fetch_add(1, std::memory_order_relaxed);
            if (chunk >= chunks) return;
            call(function, chunk);
        } while (!expired());
    }

    // Takes a ticket, if there is one, and works as a helper; returns whether there was one.
    bool help() {
        std::uint32_t seen = state.load();
        while (seen & tickets)
            if (state.compare_exchange_weak(seen, seen - 1 + helper)) {
                if ((seen & tickets) > 1) call_helpers();
                if (!expired() && (!scratch || qx::scratch(scratch))) work();
                state.fetch_sub(helper);
                if (sleepers.load() != 0) wake(state, 1);
                return true;
            }
        return false;
    }

    void close() {
        state.fetch_and(~tickets);
        for (std::uint32_t seen = state.load(); seen != 0; seen = state.load()) wait_while(state, seen, sleepers);
    }
};

struct Pool {
    Slot slot[slots];
    alignas(64) Word calls{0};  // changes whenever there is something to do
    Word sleepers{0};
    alignas(64) std::atomic<Int> threads{0};
};

Pool pool;

void call_helpers() {
    if (pool.sleepers.load() != 0) wake(pool.calls, 2);
}

void* serve(void*) {
    for (;;) {
        std::uint32_t seen = pool.calls.load();
        bool helped = false;
        for (Slot& slot : pool.slot) helped |= slot.help();
        if (!helped) wait_while(pool.calls, seen, pool.sleepers);
    }
    return nullptr;
}

// A forked child has none of its parent's threads.
void forget() { new (&pool) Pool; }

// Starts a thread; returns whether the system grants one.
bool start_one() {
    sigset_t all, before;  // signals are for Python's threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const bool started = pthread_create(&thread, nullptr, serve, nullptr) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (started) pthread_detach(thread);
    return started;
}

// Starts threads until there are `wanted`; fewer if the system refuses.
void start(Int wanted) {
    static std::atomic<bool> registered{false};
    if (!registered.exchange(true)) pthread_atfork(nullptr, nullptr, forget);
    if (wanted > most_threads) wanted = most_threads;
    for (Int have = pool.threads.load(); have < wanted;)  // an exchange that fails says how many there are
        if (pool.threads.compare_exchange_weak(have, have + 1) && !start_one()) {
            --pool.threads;
            return;
        }
}

Slot* free_slot() {
    for (Slot& slot : pool.slot) {
        if (!slot.taken.exchange(true)) return &slot;
    }
    return nullptr;
}

struct Scratch {
    char* memory;
    std::size_t bytes;
};

thread_local Scratch own;
pthread_key_t key;  // its destructor frees a thread's memory
pthread_once_t once = PTHREAD_ONCE_INIT;

void make_key() { pthread_key_create(&key, free); }

}  // namespace

Int share(const Sharing& sharing, void (*call)(const void*, Int), const void* function) {
    if (sharing.scratch && !scratch(sharing.scratch)) return refused;
    Slot alone;
    Int helpers = sharing.chunks - sharing.first - 1;
    if (helpers > sharing.threads - 1) helpers = sharing.threads - 1;
    Slot* found = helpers > 0 ? free_slot() : nullptr;
    Slot& slot = found ? *found : alone;
    slot.call = call;
    slot.function = function;
    slot.chunks = sharing.chunks;
    slot.deadline = sharing.microseconds ? now() + sharing.microseconds * 1000 : 0;
    slot.scratch = sharing.scratch;
    slot.next.store(sharing.first, std::memory_order_relaxed);
    if (found) {
        start(helpers);
        if (helpers > most_threads) helpers = most_threads;
        slot.state.store(static_cast<std::uint32_t>(helpers));
        ++pool.calls;
        call_helpers();
    }
    slot.work();
    if (found) slot.close();
    Int next = slot.next.load(std::memory_order_relaxed);
    if (found) found->taken.store(false);
    if (sharing.microseconds) thresholds.slice_microseconds.met(next < sharing.chunks);
    return next < sharing.chunks ? next : sharing.chunks;
}

char* scratch(std::size_t bytes) {
    if (own.bytes < bytes) {
        pthread_once(&once, make_key);
        void* memory = nullptr;
        if (refuses() || posix_memalign(&memory, 4096, bytes) != 0) return refused_bytes() = bytes, nullptr;
        free(own.memory);
        own = {static_cast<char*>(memory), bytes};
        pthread_setspecific(key, memory);
    }
    return own.memory;
}

}  // namespace qx
