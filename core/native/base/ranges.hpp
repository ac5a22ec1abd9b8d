// Work on many items alike, shared among threads by ranges of neighbours.
#pragma once

#include "base/pool.hpp"
#include "thresholds/table.hpp"

namespace qx {
namespace {

// A call of Python's: `size` items, each as much work as `each` amplitudes; from a chunk on, 0 at first, on up to
// `threads` threads for about so many microseconds.
struct Ranges {
    Int size, each, chunk, threads, microseconds;
    std::size_t scratch = 0;  // as in Sharing
};

// Calls `work(first, last)` for ranges that make up all items; returns the chunk to go on with, 0 if all are done, or
// `refused`.
template <class Work>
Int in_ranges(const Ranges& ranges, const Work& work) {
    constexpr Int chunks_each = 8;  // of a thread, so that all end together
    const Int most = thresholds.chunk_amplitudes.at_most(ranges.size * ranges.each);
    Int length = most / ranges.each, fair = 1 + (ranges.size - 1) / (chunks_each * ranges.threads);
    if (length > fair) length = fair;
    if (ranges.threads == 1) length = most / ranges.each;
    if (length < 1) length = 1;
    const Int chunks = (ranges.size + length - 1) / length;
    const Sharing sharing{ranges.chunk, chunks, ranges.threads, ranges.microseconds, ranges.scratch};
    const Int next = share_allocating(sharing, [&](Int chunk) {
        const Int first = chunk * length, last = first + length;
        work(first, last < ranges.size ? last : ranges.size);
    });
    return next < chunks ? next : 0;
}

}  // namespace
}  // namespace qx
