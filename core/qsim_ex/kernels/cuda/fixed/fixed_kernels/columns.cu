// A state as a matrix: rows are the values of some bits, columns those of all others at which conditions hold.
// A chunk has 2^shift columns. Column numbers are spread over the free bits; bits of pivots follow from wanted parities.

struct Parities { u64 mask[12]; u64 pivot[12]; int count; unsigned wanted; };

__device__ __forceinline__ u64 column_of(
    const u64 number, const u64 taken, const u64 value, const u64 high, const Parities& parities)
{
    u64 index = inserted(number, taken) | value;
    for (int k = 0; k < parities.count; ++k) {
        const unsigned found = __popcll((index | high) & parities.mask[k]) & 1;
        if (found != (parities.wanted >> k & 1)) index |= parities.pivot[k];
    }
    return index;
}

template <class Out>
__device__ __forceinline__ void gather_as(
    const mem* state, Out* work, const Bits& rows, const u64 taken, const u64 value, const u64 high,
    const Parities& parities, const u64 first, const unsigned shift)
{
    const u64 size = 1ull << (shift + rows.count), last = (1ull << shift) - 1;
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < size; k += (u64)gridDim.x * blockDim.x) {
        const u64 at = column_of(first + (k & last), taken, value, high, parities) | placed((k >> shift), rows);
        const amp a = state[at];
        Out out;
        out.x = a.x;
        out.y = a.y;
        work[k] = out;
    }
}

// work[row, column] = state[…]
extern "C" __global__ void __launch_bounds__(256) gather(
    const mem* state, amp* work, const Bits rows, const u64 taken, const u64 value, const u64 high,
    const Parities parities, const u64 first, const unsigned shift)
{
    gather_as(state, work, rows, taken, value, high, parities, first, shift);
}

// The same in double precision, from all columns.
extern "C" __global__ void __launch_bounds__(256) gather_double(
    const mem* state, double2* work, const Bits rows, const u64 taken, const u64 first, const unsigned shift)
{
    Parities none;
    none.count = 0;
    gather_as(state, work, rows, taken, 0, 0, none, first, shift);
}

// state[…] = work[row, column], each row at the place of row to[row] if `to` is given
extern "C" __global__ void __launch_bounds__(256) scatter(
    mem* state, const amp* work, const int* to, const Bits rows, const u64 taken, const u64 value, const u64 high,
    const Parities parities, const u64 first, const unsigned shift)
{
    const u64 size = 1ull << (shift + rows.count), last = (1ull << shift) - 1;
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < size; k += (u64)gridDim.x * blockDim.x) {
        const u64 row = k >> shift;
        const u64 at = column_of(first + (k & last), taken, value, high, parities) | placed(to ? to[row] : row, rows);
        state[at] = work[k];
    }
}

// state[row, column] = given[row − begin] · held[column] for some of the rows
extern "C" __global__ void __launch_bounds__(256) spread(
    mem* state, const amp* given, const amp* held, const Bits rows, const u64 taken, const u64 first,
    const unsigned shift, const u64 begin, const u64 count)
{
    Parities none;
    none.count = 0;
    const u64 size = count << shift, last = (1ull << shift) - 1;
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < size; k += (u64)gridDim.x * blockDim.x) {
        const u64 row = k >> shift, column = k & last;
        const amp g = given[row], h = held[column];
        amp out;
        out.x = g.x * h.x - g.y * h.y;
        out.y = g.x * h.y + g.y * h.x;
        state[column_of(first + column, taken, 0, 0, none) | placed(begin + row, rows)] = out;
    }
}
