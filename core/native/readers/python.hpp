// Python's objects, through functions of its stable ABI. The library is linked against no Python, so that one file serves
// every version: qsim_ex.native.objects hands over the addresses of the functions. Whoever calls them holds the
// interpreter's lock.
#pragma once

#include <vector>

#include "base/refusal.hpp"

namespace qx::python {

struct Object;  // opaque

// The functions, in the order of `_FUNCTIONS` in qsim_ex.native.objects; each does what Python's documentation says.
struct Functions {
    Int (*tuple_size)(Object* tuple);
    Object* (*tuple_item)(Object* tuple, Int place);  // borrowed
    Object* (*list_item)(Object* list, Int place);    // borrowed
    long long (*integer)(Object* of);
    char* (*bytes)(Object* of);
    Int (*bytes_size)(Object* of);
    const char* (*text)(Object* of, Int* size);
    Object* (*error)();  // whether an exception was raised; borrowed
    Object* (*new_tuple)(Int size);
    int (*set_tuple_item)(Object* tuple, Int place, Object* value);  // takes the reference to the value
    Object* (*new_integer)(long long value);
    int (*append)(Object* list, Object* value);
    void (*increase)(Object* of);  // the number of references
    void (*decrease)(Object* of);
    void* (*slot)(Object* type, int slot);
    void (*untrack)(Object* of);  // the garbage collector does not look at it from then on
    Object* (*attribute)(Object* of, Object* name);
    Object* (*type)(Object* of);
    double (*real)(Object* of);
    void (*clear)();  // forget the exception
    Object* (*repr)(Object* of);
    Object* (*new_text)(const char* letters, Int size);
    int (*set_item)(Object* dictionary, Object* key, Object* value);
    Int (*hash)(Object* of);
};

// What the slot `allocate_slot` of a type holds: of a type of tuples it makes a tuple of so many places, all of them empty.
using Allocate = Object* (*)(Object* type, Int size);
constexpr int allocate_slot = 47;

inline Functions call;

// New references to objects, which are given back when this ends, and also when memory is refused before.
class References {
  public:
    // Keeps what `make()` returns, null too, and returns it; it is made once there is room for it.
    template <class Make>
    Object* keep(const Make& make) {
        objects_.push_back(nullptr);
        return objects_.back() = make();
    }
    Object* operator[](std::size_t place) const { return objects_[place]; }
    std::size_t size() const { return objects_.size(); }

  private:
    void give_back() const {
        for (Object* object : objects_)
            if (object) call.decrease(object);
    }

    std::vector<Object*> objects_;
    Undo undo_{[](const void* it) { static_cast<const References*>(it)->give_back(); }, this};
};

// Puts a new reference into a new tuple; returns false for null, which an exception left.
inline bool put(Object* tuple, Int place, Object* value) {
    if (value) call.set_tuple_item(tuple, place, value);
    return value != nullptr;
}

inline Int integer(Object* tuple, Int place) { return call.integer(call.tuple_item(tuple, place)); }

}  // namespace qx::python
