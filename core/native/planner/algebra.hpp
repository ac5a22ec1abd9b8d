// Linear algebra over GF(2) on index bits; the C++ form of qsim_ex.steps.algebra.
//
// A direction is a vector: the bits that flip together. A parity is a functional: the bits whose sum is read.
#pragma once

#include <algorithm>
#include <vector>

#include "base/masks.hpp"

namespace qx::plan {

using Vectors = std::vector<Mask>;
using Map = std::vector<Mask>;  // a linear map, as its columns: what the unit of each bit becomes

inline bool is_odd(Mask mask) { return count(mask) & 1; }
inline std::size_t at(int bit) { return static_cast<std::size_t>(bit); }

inline Vectors units(int size) {
    Vectors out;
    for (int bit = 0; bit < size; ++bit) out.push_back(unit(bit));
    return out;
}

// Returns what a map makes of a vector.
inline Mask image(const Map& columns, Mask vector) {
    Mask out = 0;
    each(vector, [&](int bit) { out ^= columns[at(bit)]; });
    return out;
}

// Returns the parity of a vector that `parity` is of its image.
inline Mask pulled_back(const Map& columns, Mask parity) {
    Mask out = 0;
    for (std::size_t bit = 0; bit < columns.size(); ++bit) out |= Mask{is_odd(columns[bit] & parity)} << bit;
    return out;
}

// The span of some vectors, and how each of its vectors is a sum of those that it was made of.
class Span {
  public:
    struct Reduced {
        Mask left;  // of a vector, outside the span
        Mask made;  // which of `vectors` make up the rest
    };

    Span() = default;
    explicit Span(const Vectors& vectors) { add_all(vectors); }

    Vectors vectors;  // those that were added and were not sums of the ones before

    int size() const { return static_cast<int>(vectors.size()); }
    Reduced reduced(Mask vector) const {
        Mask made = 0;
        while (Mask known = vector & pivots_) {
            int top = highest(known);
            vector ^= rows_[top], made ^= made_[top];
        }
        return {vector, made};
    }
    Mask left(Mask vector) const {
        while (Mask known = vector & pivots_) vector ^= rows_[highest(known)];
        return vector;
    }
    bool has(Mask vector) const { return !left(vector); }
    // Adds a vector; returns whether it was new.
    bool add(Mask vector) {
        Reduced rest = reduced(vector);
        if (!rest.left) return false;
        int top = highest(rest.left);
        rows_[top] = rest.left, made_[top] = rest.made ^ unit(size());
        pivots_ |= unit(top);
        vectors.push_back(vector);
        return true;
    }
    void add_all(const Vectors& more) {
        for (Mask vector : more) add(vector);
    }
    // Bits that tell the vectors of the span apart, one for each dimension.
    Mask pivots() const { return pivots_; }

  private:
    Mask pivots_ = 0;
    Mask rows_[64], made_[64];  // for each pivot the vector of which it is the highest bit, and what it is the sum of
};

// Returns the inverse of a map that has one.
inline Map inverse(const Map& columns) {
    Span span(columns);
    Map out;
    for (std::size_t bit = 0; bit < columns.size(); ++bit) out.push_back(span.reduced(Mask{1} << bit).made);
    return out;
}

// Returns a basis of the vectors that a map makes 0.
inline Vectors kernel(const Map& columns) {
    Span span;
    Vectors names, out;
    for (std::size_t bit = 0; bit < columns.size(); ++bit) {
        if (span.add(columns[bit])) names.push_back(Mask{1} << bit);
        else out.push_back(Mask{1} << bit ^ image(names, span.reduced(columns[bit]).made));
    }
    return out;
}

// Returns a basis of what two spaces have in common, given a basis of each.
inline Vectors common(const Vectors& one, const Vectors& other) {
    Span span(one);
    Vectors out;
    for (Mask vector : other)
        if (!span.add(vector)) out.push_back(image(one, span.reduced(vector).made & below(static_cast<int>(one.size()))));
    return out;
}

// The reduced basis of a space, the highest vector first: the same for all vectors that span it.
class Basis {
  public:
    Basis() {}
    // rows: those of a reduced basis.
    Basis(const Mask* begin, const Mask* end) : size_(static_cast<int>(end - begin)) { std::copy(begin, end, rows_); }
    Basis(const Basis& other) : size_(other.size_) { std::copy_n(other.rows_, size_, rows_); }  // most have few vectors
    Basis& operator=(const Basis& other) {
        if (this == &other) return *this;
        size_ = other.size_;
        std::copy_n(other.rows_, size_, rows_);
        return *this;
    }
    int size() const { return size_; }
    const Mask* begin() const { return rows_; }
    const Mask* end() const { return rows_ + size_; }
    Mask left(Mask vector) const {
        for (Mask row : *this) vector = std::min(vector, vector ^ row);
        return vector;
    }
    void add(Mask vector) {
        vector = left(vector);
        if (!vector) return;
        int top = highest(vector), place = size_++;
        for (; place && rows_[place - 1] < vector; --place) rows_[place] = rows_[place - 1];
        for (int k = 0; k < place; ++k)
            if (rows_[k] >> top & 1) rows_[k] ^= vector;
        rows_[place] = vector;
    }

  private:
    int size_ = 0;
    Mask rows_[64];
};

}  // namespace qx::plan
