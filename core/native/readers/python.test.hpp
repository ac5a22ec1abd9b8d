// Objects that take the place of Python's, and functions that read them, for tests of readers of Python's objects.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "readers/python.hpp"

namespace qx::python {

// A number, a text, or a sequence; `attributes` by the objects of their names.
struct Object {
    Object* type = nullptr;
    double number = 0;
    std::string text = {};
    std::vector<Object*> items = {};
    std::map<Object*, Object*> attributes = {};
    int references = 1;
};

namespace fake {

inline Object exception;
inline bool raised = false;

// Keeps all objects that a test makes.
class Heap {
  public:
    Heap();
    Object* add(Object made) {
        all_.push_back(std::make_unique<Object>(std::move(made)));
        all_.back()->items.reserve(room);
        return all_.back().get();
    }
    Object* integer(long long value) { return add({nullptr, static_cast<double>(value), std::to_string(value)}); }
    Object* text(const char* value) { return add({nullptr, 0, value}); }
    Object* tuple(std::vector<Object*> items) { return add({nullptr, 0, "(…)", std::move(items)}); }
    // Whether all references that were taken have been given back.
    bool is_balanced() const {
        for (const auto& one : all_)
            if (one->references != 1) return false;
        return true;
    }

  private:
    // Readers append to lists in `guarded`, whose end would free what is allocated there: Python's memory is none of theirs.
    static constexpr std::size_t room = 1000;

    std::vector<std::unique_ptr<Object>> all_;
};

inline Object* taken(Object* of) { return ++of->references, of; }

// Lets readers call these functions from now on.
inline Heap::Heap() {
    raised = false;
    call = {};
    call.tuple_size = [](Object* of) { return static_cast<Int>(of->items.size()); };
    call.tuple_item = call.list_item = [](Object* of, Int place) { return of->items[static_cast<std::size_t>(place)]; };
    call.integer = [](Object* of) { return static_cast<long long>(of->number); };
    call.text = [](Object* of, Int* size) {
        *size = static_cast<Int>(of->text.size());
        return of->text.c_str();
    };
    call.bytes = [](Object* of) { return of->text.data(); };
    call.bytes_size = [](Object* of) { return static_cast<Int>(of->text.size()); };
    call.error = [] { return raised ? &exception : nullptr; };
    call.clear = [] { raised = false; };
    call.append = [](Object* list, Object* value) { return list->items.push_back(taken(value)), 0; };
    call.increase = [](Object* of) { ++of->references; };
    call.decrease = [](Object* of) { --of->references; };
    call.type = [](Object* of) { return taken(of->type); };
    call.repr = [](Object* of) { return taken(of); };
    call.attribute = [](Object* of, Object* name) -> Object* {
        const auto found = of->attributes.find(name);
        if (found == of->attributes.end()) return raised = true, nullptr;
        return taken(found->second);
    };
    call.hash = [](Object* of) { return static_cast<Int>(of->number); };
    call.real = [](Object* of) { return of->text == "symbol" ? (raised = true, -1.0) : of->number; };
}

}  // namespace fake
}  // namespace qx::python
