#include "base/refusal.hpp"

#include <setjmp.h>
#include <stdlib.h>

#include <atomic>
#include <bit>
#include <new>

#include "base/export.hpp"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define QX_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(QX_SANITIZED)
#define QX_SANITIZED
#endif

namespace qx {
namespace {

#ifdef QX_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

// Blocks that were freed in a call, for what it allocates next: most are small, and freed soon. Each was allocated by
// itself, so that whoever has one may free it. Sanitizers see blocks that nobody keeps.
class Spare {
  public:
    Spare() = default;
    Spare(const Spare&) = delete;
    Spare& operator=(const Spare&) = delete;
    ~Spare() { release(); }

    // The bytes that are allocated for a block of so many: four sizes between two powers of two.
    static constexpr std::size_t whole(std::size_t bytes) {
        const std::size_t step = std::size_t{1} << (std::bit_width(bytes - 1) - 3);
        return keeps(bytes) ? (bytes + step - 1) / step * step : bytes;
    }
    // Returns a block of so many bytes, null if there is none.
    Block* take(std::size_t bytes) {
        if (!keeps(bytes) || !first_[number(bytes)]) return nullptr;
        Block*& first = first_[number(bytes)];
        Block* found = first;
        first = found->after, kept_ -= whole(bytes);
        return found;
    }
    // Keeps a block of so many bytes; returns false if it is not to be kept.
    bool keep(Block* block, std::size_t bytes) {
        if (!keeps(bytes) || kept_ >= most) return false;
        Block*& first = first_[number(bytes)];
        block->after = first, first = block, kept_ += whole(bytes);
        return true;
    }
    // Frees all of them.
    void release() {
        for (Block*& first : first_)
            while (Block* block = first) first = block->after, free(block);
        kept_ = 0;
    }

  private:
    static constexpr std::size_t longest = 17, sizes = 4 * longest, most = std::size_t{1} << 22;
    static constexpr bool keeps(std::size_t bytes) { return !sanitized && bytes <= std::size_t{1} << longest; }
    static constexpr std::size_t number(std::size_t bytes) {
        const auto width = static_cast<std::size_t>(std::bit_width(bytes - 1));
        return 4 * (width - 1) + ((bytes - 1) >> (width - 3) & 3);
    }

    Block* first_[sizes] = {};
    std::size_t kept_ = 0;  // bytes
};

// Where a thread goes back to when memory is refused, whose its allocations are, and what was freed since the outermost one.
struct Entry {
    Ledger* ledger;
    Entry* outer;
    Undo* last;
    Spare* spare;
    jmp_buf back;
};

// What belongs to a thread. blocks: how many it has allocated and not freed.
struct Thread {
    Entry* entry;
    Int blocks;
    std::size_t refused_bytes;
};

// It lies among what the system gives a thread at its start, since allocations look it up.
__attribute__((tls_model("initial-exec"))) constinit thread_local Thread own{};

// How many more allocations are granted; negative: all of them. Tests set it.
std::atomic<Int> granted{-1};

constexpr std::size_t line = 64;  // of a cache

// Returns the bytes of a header that takes a line and of memory behind it, in whole lines.
constexpr std::size_t in_lines(std::size_t bytes) { return (bytes + 2 * line - 1) / line * line; }
static_assert(in_lines(0) == line && in_lines(1) == 2 * line && in_lines(line) == 2 * line);

static_assert(sizeof(Block) % alignof(max_align_t) == 0, "memory behind a header is aligned as malloc aligns it");

void leave(Block* block) {
    block->before->after = block->after;
    block->after->before = block->before;
}

// Returns the memory behind a header of `ahead` bytes, at whose beginning the block is.
void* joined(void* found, std::size_t ahead) {
    auto* block = static_cast<Block*>(found);
    ++own.blocks;
    if (own.entry) own.entry->ledger->add(block);
    else *block = {block, block};
    return static_cast<char*>(found) + ahead;
}

// Returns memory of the present ledger, null if it is refused.
void* allocated(std::size_t bytes) {
    if (refuses()) return nullptr;
    const std::size_t size = sizeof(Block) + bytes;
    void* found = own.entry ? own.entry->spare->take(size) : nullptr;
    if (!found) found = malloc(Spare::whole(size));
    return found ? joined(found, sizeof(Block)) : nullptr;
}

// Returns the block of some memory, which nobody has any more; null if there is none.
Block* left(void* memory, std::size_t ahead) {
    if (!memory) return nullptr;
    auto* block = reinterpret_cast<Block*>(static_cast<char*>(memory) - ahead);
    leave(block);
    --own.blocks;
    return block;
}

void freed(void* memory, std::size_t ahead) { free(left(memory, ahead)); }

// The same for memory of which the bytes are known that were asked for.
void freed_bytes(void* memory, std::size_t bytes) {
    Block* block = left(memory, sizeof(Block));
    if (!block || !own.entry || !own.entry->spare->keep(block, sizeof(Block) + bytes)) free(block);
}

}  // namespace

void Ledger::add(Block* block) {
    *block = {first_.before, &first_};
    first_.before->after = block;
    first_.before = block;
}

void Ledger::take(Ledger& other) {
    if (other.first_.after == &other.first_) return;
    first_.before->after = other.first_.after;
    other.first_.after->before = first_.before;
    other.first_.before->after = &first_;
    first_.before = other.first_.before;
    other.first_ = {&other.first_, &other.first_};
}

void Ledger::release() {
    for (Block* block = first_.after; block != &first_;) {
        Block* next = block->after;
        --own.blocks;
        free(block);
        block = next;
    }
    first_ = {&first_, &first_};
}

Undo::Undo(void (*call)(const void* work), const void* work) : call_(call), work_(work), before_(own.entry->last) {
    own.entry->last = this;
}

Undo::~Undo() {
    own.entry->last = before_;
    call_(work_);
}

void* aligned_memory(std::size_t bytes) {
    // The system refuses more, but whole lines of it may be beyond all numbers.
    constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();
    void* found = bytes > most || refuses() ? nullptr : aligned_alloc(line, in_lines(bytes));
    if (!found) refuse(bytes);
    return joined(found, line);
}

void free_aligned_memory(void* memory) { freed(memory, line); }

void* memory_or_null(std::size_t bytes) {
    void* found = refuses() ? nullptr : malloc(Spare::whole(sizeof(Block) + bytes));
    if (!found) return own.refused_bytes = bytes, nullptr;
    auto* block = static_cast<Block*>(found);
    *block = {block, block};
    ++own.blocks;
    return block + 1;
}

bool refuses() { return granted.load(std::memory_order_relaxed) >= 0 && granted.fetch_sub(1) == 0; }

std::size_t& refused_bytes() { return own.refused_bytes; }

void refuse(std::size_t bytes) {
    if (!own.entry) abort();  // an exported function that allocates without `guarded`
    own.refused_bytes = bytes;
    Entry& entry = *own.entry;
    while (Undo* last = entry.last) {
        entry.last = last->before_;
        last->call_(last->work_);
    }
    _longjmp(entry.back, 1);
}

Int enter(Ledger& ledger, Int (*call)(const void* work), const void* work) {
    Entry here;
    Spare spare;
    here.ledger = &ledger, here.outer = own.entry, here.last = nullptr;
    here.spare = own.entry ? own.entry->spare : &spare;
    if (_setjmp(here.back)) {
        own.entry = here.outer;
        ledger.release();
        return refused;
    }
    own.entry = &here;
    Int result = call(work);
    own.entry = here.outer;
    return result;
}

}  // namespace qx

// Tests have the allocation refused that comes after so many others; -1: none. Returns how many of the last ones were left.
QX_EXPORT(refuse_after, (qx::Int count)) { return qx::granted.exchange(count); }

// Returns how many blocks of memory this thread has allocated and not freed.
QX_EXPORT(allocated_blocks, ()) { return qx::own.blocks; }

// Returns the bytes that were refused to this thread last.
QX_EXPORT(refused_bytes, ()) { return static_cast<qx::Int>(qx::own.refused_bytes); }

// The functions of the C++ library that our containers call. They stand here so that the library needs libc alone, and
// nothing of a C++ library that another package in the process may have brought too.
void* operator new(std::size_t size) {
    void* found = qx::allocated(size);
    if (!found) qx::refuse(size);
    return found;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return qx::allocated(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return qx::allocated(size); }
void operator delete(void* pointer) noexcept { qx::freed(pointer, sizeof(qx::Block)); }
void operator delete[](void* pointer) noexcept { operator delete(pointer); }
void operator delete(void* pointer, std::size_t bytes) noexcept { qx::freed_bytes(pointer, bytes); }
void operator delete[](void* pointer, std::size_t) noexcept { operator delete(pointer); }

#ifdef _LIBCPP_VERSION
namespace std::inline _LIBCPP_ABI_NAMESPACE {
[[noreturn]] void __libcpp_verbose_abort(const char*, ...) noexcept;
// A container is asked for more than there can be.
void __libcpp_verbose_abort(const char*, ...) noexcept { qx::refuse(numeric_limits<size_t>::max()); }
}
#endif
