// Drawing shots: numbers in order, and where they fall on running sums of weights. qsim_ex.observe.sampling says what a
// shot is.

#include <cmath>
#include <vector>

#include "base/export.hpp"
#include "base/interned.hpp"
#include "base/refusal.hpp"

namespace {

using qx::Int;

constexpr int digit_bits = 8, digits = 4, buckets = 1 << digit_bits;

struct Key {
    std::uint32_t number;
    std::uint32_t digit(int k) const { return number >> k * digit_bits & (buckets - 1); }
    Int place;
};

// Returns the first place from `from` on whose value is above the target, in values that ascend; all before are not.
Int above(const double* values, Int size, double target, Int from) {
    Int step = 1;
    for (; from + step <= size && values[from + step - 1] <= target; step *= 2) from += step;
    while (step >>= 1)
        if (from + step <= size && values[from + step - 1] <= target) from += step;
    return from;
}

void ascend(const double* numbers, std::size_t size, Int* order) {
    std::vector<Key> keys(size), sorted(size);
    Int begins[digits * buckets] = {};
    for (std::size_t k = 0; k < size; ++k) {
        keys[k] = {static_cast<std::uint32_t>(numbers[k] * 0x1p32), static_cast<Int>(k)};
        for (int digit = 0; digit < digits; ++digit) ++begins[digit * buckets + keys[k].digit(digit)];
    }
    for (int digit = 0; digit < digits; ++digit) {
        Int* begin = begins + digit * buckets;
        for (Int bucket = 0, next = 0; bucket < buckets; ++bucket) {
            const Int here = begin[bucket];
            begin[bucket] = next;
            next += here;
        }
        for (const Key& key : keys) sorted[static_cast<std::size_t>(begin[key.digit(digit)]++)] = key;
        keys.swap(sorted);
    }
    for (std::size_t k = 0; k < size; ++k) order[k] = keys[k].place;
}

Int count(const Int* values, Int size, Int* distinct, Int* counts) {
    qx::plan::Memo known;
    qx::plan::Index count = 0;
    for (Int k = 0; k < size; ++k) {
        qx::plan::Index& number = known[static_cast<std::uint64_t>(values[k])];
        if (number == qx::plan::Memo::none) {
            distinct[count] = values[k];
            counts[count] = 0;
            number = count++;
        }
        ++counts[number];
    }
    return count;
}

}  // namespace

// Writes the order in which numbers in [0, 1) ascend by their first 32 bits; equal ones stay in order.
QX_EXPORT(shots_ascending, (const double* numbers, Int size, Int* order)) {
    return qx::guarded([&] { return ascend(numbers, static_cast<std::size_t>(size), order), 0; });
}

// Writes where each running sum of weights ends.
QX_EXPORT(shots_running_sums, (const double* weights, Int size, double* ends)) {
    double sum = 0.0;
    for (Int k = 0; k < size; ++k) ends[k] = sum += weights[k];
    return 0;
}

// Writes where targets fall on running sums, and how far they reach into that weight. It is fastest for targets that
// ascend.
QX_EXPORT(shots_choose, (const double* ends, Int size, const double* targets, Int count, Int* found, double* rest)) {
    const double most = std::nextafter(ends[size - 1], -1.0);  // rounding never leads beyond the last weight
    Int at = 0;
    for (Int k = 0; k < count; ++k) {
        const double target = targets[k] < most ? targets[k] : most;
        if (at && target < ends[at - 1]) at = 0;
        at = above(ends, size, target, at);
        found[k] = at;
        rest[k] = at ? target - ends[at - 1] : target;
    }
    return 0;
}

// Writes the distinct values, in the order in which they come first, and how often each comes; returns how many there are.
QX_EXPORT(shots_count, (const Int* values, Int size, Int* distinct, Int* counts)) {
    return qx::guarded([&] { return count(values, size, distinct, counts); });
}
