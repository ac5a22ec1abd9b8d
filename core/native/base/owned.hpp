// Objects that live from one of Python's calls to others.
#pragma once

#include <time.h>

#include <new>

#include "base/refusal.hpp"

namespace qx {

// An object with all memory that it allocates; Python has the address of its holder. That memory ends with the holder, and
// no destructor runs. One thread at a time changes an object.
template <class Object>
class Owned {
  public:
    // Returns the address of a new holder for what `make()` returns, a pointer; 0 if that is null, or `refused`.
    template <class Make>
    static Int make(const Make& make) {
        void* memory = memory_or_null(sizeof(Owned));
        if (!memory) return refused;
        Owned* owned = new (memory) Owned;
        Int status = guarded(owned->ledger_, [&] { return Int{(owned->object_ = make()) != nullptr}; });
        if (status == 1) return reinterpret_cast<Int>(owned);
        drop(reinterpret_cast<Int>(owned));
        return status;
    }

    // The object at an address that `make` returned.
    static Object& at(Int address) { return *reinterpret_cast<Owned*>(address)->object_; }

    // Changes an object: returns what `work(object)` returns, or `refused`. Then the object is gone, and every later change
    // is refused.
    template <class Work>
    static Int change(Int address, const Work& work) {
        Owned* owned = reinterpret_cast<Owned*>(address);
        if (!owned->object_) return refused;
        Int result = guarded(owned->ledger_, [&] { return work(*owned->object_); });
        if (result == refused) owned->object_ = nullptr;
        return result;
    }

    // The same for work that changes the object when it has all its memory: if some is refused, the object stays as it was.
    template <class Work>
    static Int extend(Int address, const Work& work) {
        Owned* owned = reinterpret_cast<Owned*>(address);
        Ledger added;
        Int result = guarded(added, [&] { return work(*owned->object_); });
        owned->ledger_.take(added);
        return result;
    }

    // Ends an object, which may be gone; does nothing for address 0.
    static void drop(Int address) { delete reinterpret_cast<Owned*>(address); }

  private:
    Ledger ledger_;
    Object* object_ = nullptr;
};

// Calls `step()` for about so many milliseconds while it returns 1, which says that more is left; returns what it returned
// last.
template <class Step>
Int worked_for(Int milliseconds, const Step& step) {
    const auto now = [] {
        timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return Int{time.tv_sec} * 1000 + time.tv_nsec / 1000000;
    };
    Int status = 1;
    for (const Int end = now() + milliseconds; status == 1;)
        if ((status = step()) == 1 && now() >= end) break;
    return status;
}

}  // namespace qx
