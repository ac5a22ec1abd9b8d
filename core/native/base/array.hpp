// Memory of kernels. Sources that are compiled once for each instruction set use these instead of the C++ library's
// containers: of a template that several sets instantiate the linker keeps one, perhaps with instructions that this
// processor lacks. So everything here, and in every header of such sources, belongs to one source alone.
#pragma once

#include <cstring>

#include "base/refusal.hpp"

namespace qx {
namespace {

// Plain numbers or structures on a cache line. They are not written to before they are used, so a large array that is
// hardly used costs nothing.
template <class Item>
class Array {
  public:
    Array() = default;
    explicit Array(Int size) { grow(size); }
    Array(Int size, Item all) : Array(size) {
        for (Item& item : *this) item = all;
    }
    Array(Array&& other) noexcept : at_(other.at_), size_(other.size_) { other.at_ = nullptr; }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    ~Array() { free_aligned_memory(at_); }

    Item& operator[](Int k) { return at_[k]; }
    const Item& operator[](Int k) const { return at_[k]; }
    Item* begin() { return at_; }
    Item* end() { return at_ + size_; }
    const Item* begin() const { return at_; }
    const Item* end() const { return at_ + size_; }
    Int size() const { return size_; }

    // Makes the array larger; its items are kept.
    void grow(Int size) {
        auto* made = static_cast<Item*>(aligned_memory(static_cast<std::size_t>(size) * sizeof(Item)));
        if (size_) std::memcpy(static_cast<void*>(made), at_, static_cast<std::size_t>(size_) * sizeof(Item));
        free_aligned_memory(at_);
        at_ = made;
        size_ = size;
    }

  private:
    Item* at_ = nullptr;
    Int size_ = 0;
};

// A list that grows and shrinks at its end.
template <class Item>
class List {
  public:
    void push(Item item) {
        if (count_ == items_.size()) items_.grow(2 * count_ + 64);
        items_[count_++] = item;
    }
    Item pop() { return items_[--count_]; }
    void clear() { count_ = 0; }
    Int size() const { return count_; }
    const Item* begin() const { return items_.begin(); }
    const Item* end() const { return items_.begin() + count_; }

  private:
    Array<Item> items_;
    Int count_ = 0;
};

}  // namespace
}  // namespace qx
