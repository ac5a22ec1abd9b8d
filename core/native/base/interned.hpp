// Byte strings that are kept once and known by their number: patterns and labels.
#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "base/masks.hpp"

namespace qx::plan {

inline std::uint64_t mixed(std::uint64_t key) {
    key *= 0x9e3779b97f4a7c15ull;
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93ull;
    return key ^ key >> 32;
}

// A table from 64-bit keys to numbers. It grows, and forgets nothing.
class Memo {
  public:
    static constexpr Index none = ~Index{0};

    // Returns the value of a key; `none` is stored for a key that was not known, for the caller to replace.
    Index& operator[](std::uint64_t key) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        Slot& slot = slots_[find(slots_, key)];
        if (!slot.used) {
            slot = {key, none, true};
            ++used_;
        }
        return slot.value;
    }

    // Returns the value of a key, `none` for one that is not known.
    Index at(std::uint64_t key) const {
        if (slots_.empty()) return none;
        const Slot& slot = slots_[find(slots_, key)];
        return slot.used ? slot.value : none;
    }

  private:
    struct Slot {
        std::uint64_t key = 0;
        Index value = none;
        bool used = false;
    };

    static std::size_t find(const std::vector<Slot>& slots, std::uint64_t key) {
        std::size_t at = mixed(key) & (slots.size() - 1);
        while (slots[at].used && slots[at].key != key) at = (at + 1) & (slots.size() - 1);
        return at;
    }
    void grow() {
        std::vector<Slot> larger(slots_.empty() ? 64 : 4 * slots_.size());
        for (const Slot& slot : slots_)
            if (slot.used) larger[find(larger, slot.key)] = slot;
        slots_.swap(larger);
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

class Interned {
  public:
    using Bytes = std::basic_string_view<char>;

    // Returns the number of a byte string, which is kept if it is new.
    Index of(Bytes bytes) {
        std::uint64_t key = hash(bytes);
        for (;; key = mixed(key + 1)) {
            Index& known = table_[key];
            if (known == Memo::none) {
                known = static_cast<Index>(size());
                bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
                ends_.push_back(bytes_.size());
                return known;
            }
            if (same((*this)[known], bytes)) return known;
        }
    }
    // Valid until the next call of `of`.
    Bytes operator[](Index number) const {
        std::size_t begin = number ? ends_[number - 1] : 0;
        return {bytes_.data() + begin, ends_[number] - begin};
    }
    std::size_t size() const { return ends_.size(); }
    const std::vector<char>& bytes() const { return bytes_; }
    const std::vector<std::uint64_t>& ends() const { return ends_; }

  private:
    template <class Word>
    static std::uint64_t word(const char* at) {
        Word found;
        std::memcpy(&found, at, sizeof found);
        return found;
    }
    // The last bytes of a string, at most eight, which are read twice where that takes fewer steps: most strings are short,
    // and no function is called for them.
    static std::uint64_t last(const char* at, std::size_t size) {
        if (size >= 8) return word<std::uint64_t>(at + size - 8);
        if (size >= 4) return word<std::uint32_t>(at) | word<std::uint32_t>(at + size - 4) << 32;
        if (size >= 2) return word<std::uint16_t>(at) | word<std::uint16_t>(at + size - 2) << 16;
        return size ? word<std::uint8_t>(at) : 0;
    }
    static std::uint64_t hash(Bytes bytes) {
        std::uint64_t found = bytes.size();
        for (std::size_t at = 0; at + 8 < bytes.size(); at += 8)
            found = mixed(found ^ word<std::uint64_t>(bytes.data() + at));
        return mixed(found ^ last(bytes.data(), bytes.size()));
    }
    static bool same(Bytes one, Bytes other) {
        if (one.size() != other.size() || last(one.data(), one.size()) != last(other.data(), other.size())) return false;
        for (std::size_t at = 0; at + 8 < one.size(); at += 8)
            if (word<std::uint64_t>(one.data() + at) != word<std::uint64_t>(other.data() + at)) return false;
        return true;
    }

    std::vector<char> bytes_;
    std::vector<std::uint64_t> ends_;
    Memo table_;
};

}  // namespace qx::plan
