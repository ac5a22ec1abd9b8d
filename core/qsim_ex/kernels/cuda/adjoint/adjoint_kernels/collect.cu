// The derivatives with respect to the numbers of an operation, while a thread holds 16 amplitudes of a cotangent behind it, l,
// and those of the state before it, x: for y = C x the sum of l x^† over all amplitudes, see core/native/kernels/gradients.
//
// A sum is added up in three steps, whose order is the same in every run: over a thread's registers, over the lanes of a
// warp or over a tile in shared memory, in the precision of amplitudes; and then over the tiles of a thread block, in double
// precision, in memory that only this block touches. The host adds up the blocks. Additions to memory are atomic so that no
// thread waits for what is there: a place is one thread's, or there is a barrier between two that add to it.

// The words of a table's sums: for each bit of a thread's number, and then for each of 4 bits that are looped over, the slot
// and, from bit 16 on, the block of numbers that it adds by XOR; how many of the lowest thread bits add no block, and, from
// bit 8 on, how many of the bits looped over add one.
enum { LOOPED = 8, SPLIT = 12, RECORD = 13 };

// Of a table: which registers it concerns, what the tile adds to the number of a block, the entries of a block, where the sums
// go, and an amplitude of shared memory for each warp.
struct Table {
    unsigned which, block, stride;
    double* sums;
    amp* stage;
    bool live;
};

// l conj(x)
__device__ __forceinline__ amp product(const amp l, const amp x)
{
    amp c;
    c.x = l.x * x.x + l.y * x.y;
    c.y = l.y * x.x - l.x * x.y;
    return c;
}

__device__ __forceinline__ void add_product(real* sum, const amp l, const amp x)
{
    sum[0] += l.x * x.x;
    sum[1] += l.y * x.x;
    sum[0] += l.y * x.y;
    sum[1] -= l.x * x.y;
}

// Adds up N values over a warp: lanes keep one half and give the other away, so that lane k ends with value k % N.
template <int N>
__device__ __forceinline__ void add_up(real (&v)[N], double* to)
{
    const unsigned lane = threadIdx.x & 31;
#pragma unroll
    for (int half = N / 2; half; half /= 2) {
        const bool high = lane & half;
#pragma unroll
        for (int k = 0; k < half; ++k) {
            const real kept = high ? v[k + half] : v[k], given = high ? v[k] : v[k + half];
            v[k] = kept + __shfl_xor_sync(~0u, given, half);
        }
    }
#pragma unroll
    for (int bit = N; bit < 32; bit *= 2) v[0] += __shfl_xor_sync(~0u, v[0], bit);
    if (lane < N) atomicAdd(to + lane, (double)v[0]);
}

template <int J>
__device__ __forceinline__ void of_mix_1(const amp (&l)[16], const amp (&x)[16], double* to)
{
    real sum[8] = {};
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> J & 1) continue;
        const int q = r | 1 << J;
        add_product(sum, l[r], x[r]);
        add_product(sum + 2, l[r], x[q]);
        add_product(sum + 4, l[q], x[r]);
        add_product(sum + 6, l[q], x[q]);
    }
    add_up(sum, to);
}

template <int J>
__device__ __forceinline__ void of_real_1(const amp (&l)[16], const amp (&x)[16], double* to)
{
    real sum[4] = {};
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> J & 1) continue;
        const int q = r | 1 << J;
        sum[0] += l[r].x * x[r].x;
        sum[1] += l[r].x * x[q].x;
        sum[2] += l[q].x * x[r].x;
        sum[3] += l[q].x * x[q].x;
        sum[0] += l[r].y * x[r].y;
        sum[1] += l[r].y * x[q].y;
        sum[2] += l[q].y * x[r].y;
        sum[3] += l[q].y * x[q].y;
    }
    add_up(sum, to);
}

template <int J>
__device__ __forceinline__ void of_crossed_1(const amp (&l)[16], const amp (&x)[16], double* to)
{
    real sum[4] = {};
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> J & 1) continue;
        const int q = r | 1 << J;
        sum[0] += l[r].x * x[r].x;
        sum[1] += l[r].y * x[q].x;
        sum[2] += l[q].y * x[r].x;
        sum[3] += l[q].x * x[q].x;
        sum[0] += l[r].y * x[r].y;
        sum[1] -= l[r].x * x[q].y;
        sum[2] -= l[q].x * x[r].y;
        sum[3] += l[q].y * x[q].y;
    }
    add_up(sum, to);
}

template <int I, int J>
__device__ __forceinline__ void of_mix_2(const amp (&l)[16], const amp (&x)[16], double* to)
{
    real sum[32] = {};
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> I & 1 || r >> J & 1) continue;
#pragma unroll
        for (int k = 0; k < 16; ++k)
            add_product(sum + 2 * k, l[r | (k >> 2 & 1) << I | (k >> 3) << J], x[r | (k & 1) << I | (k >> 1 & 1) << J]);
    }
    add_up(sum, to);
}

// The entries are in the order of `crossed_2`.
template <int I, int J>
__device__ __forceinline__ void of_crossed_2(const amp (&l)[16], const amp (&x)[16], double* to)
{
    real sum[16] = {};
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> I & 1 || r >> J & 1) continue;
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            const int p = r | k << I, q = r | (1 - k) << I | 1 << J;
            add_product(sum + 4 * k, l[p], x[p]);
            add_product(sum + 4 * k + 2, l[p], x[q]);
            add_product(sum + 12 - 4 * k, l[q], x[p]);
            add_product(sum + 14 - 4 * k, l[q], x[q]);
        }
    }
    add_up(sum, to);
}

// In two parts, since registers are scarce.
__device__ __forceinline__ void of_factors(const amp (&l)[16], const amp (&x)[16], double* to)
{
#pragma unroll
    for (int first = 0; first < 16; first += 8) {
        real sum[16] = {};
#pragma unroll
        for (int r = 0; r < 8; ++r) add_product(sum + 2 * r, l[first + r], x[first + r]);
        add_up(sum, to + 2 * first);
    }
}

// Of one factor for the registers of a mask. inner: whether the thread has it.
__device__ __forceinline__ void of_phase(
    const amp (&l)[16], const amp (&x)[16], const unsigned which, const bool inner, double* to)
{
    real sum[2] = {};
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (which >> r & 1) add_product(sum, l[r], x[r]);
    }
    sum[0] = inner ? sum[0] : 0;
    sum[1] = inner ? sum[1] : 0;
    add_up(sum, to);
}

// Registers whose numbers differ by a mask change places.
__device__ __forceinline__ void turn(amp (&a)[16], const unsigned mask)
{
    if (mask & 1) flip<0>(a, 0xffff);
    if (mask & 2) flip<1>(a, 0xffff);
    if (mask & 4) flip<2>(a, 0xffff);
    if (mask & 8) flip<3>(a, 0xffff);
}

// Row by row, so that there are 16 sums at a time.
__device__ __forceinline__ void of_block(amp (&l)[16], const amp (&x)[16], double* to)
{
#pragma unroll 1
    for (unsigned row = 0; row < 16; ++row, to += 32) {
        real sum[32] = {};
#pragma unroll
        for (int k = 0; k < 16; ++k) add_product(sum + 2 * k, l[0], x[k]);
        add_up(sum, to);
        turn(l, row ^ (row + 1) & 15);  // behind the last row all are at their places again
    }
}

// The products of registers, for `add_entries`.
__device__ __forceinline__ void park_products(
    const amp (&l)[16], const amp (&x)[16], amp* tile, const Places& places, const unsigned which)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        amp both = product(l[r], x[r]);
        const bool chosen = which >> r & 1;
        both.x = chosen ? both.x : 0;
        both.y = chosen ? both.y : 0;
        near(tile, slot_of(places, r)) = both;
    }
}

// Adds up products that wait in the tile, for each block of a table: each thread those of a block, or a part of them, which
// lanes and then warps put together. at: of the table's record. entry: of each block.
template <class Words>
__device__ __forceinline__ void add_entries(
    amp* tile, const Table& of, const Words& words, const int at, const unsigned entry, const unsigned t)
{
    unsigned own = of.block << 16;
#pragma unroll
    for (int k = 0; k < 8; ++k) own ^= spread(t, k) & words.w[at + k];
    const unsigned idle = words.w[at + SPLIT] & 0xff, blocks = words.w[at + SPLIT] >> 8;
    __syncthreads();
    unsigned hop[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) hop[k] = words.w[at + LOOPED + k];
#pragma unroll 1
    for (unsigned high = 0; high < 1u << blocks; ++high) {
        unsigned first = own;
#pragma unroll
        for (int k = 0; k < 4; ++k) first ^= spread(high, k) & hop[k];
        amp sum = near(tile, first & 0xffff);
        unsigned slot = first;
#pragma unroll
        for (unsigned low = 1; low < 16; ++low) {  // the lowest bits of places change as in counting up
            const int changed = low & 1 ? 0 : low & 2 ? 1 : low & 4 ? 2 : 3;
            if (low >> (4 - blocks)) break;
            slot ^= blocks == 0 ? hop[changed] : words.w[at + LOOPED + blocks + changed];
            const amp one = near(tile, slot & 0xffff);
            sum.x += one.x;
            sum.y += one.y;
        }
#pragma unroll 1
        for (unsigned bit = 0; bit < (idle < 5 ? idle : 5); ++bit) {
            sum.x += __shfl_xor_sync(~0u, sum.x, 1u << bit);
            sum.y += __shfl_xor_sync(~0u, sum.y, 1u << bit);
        }
        if (idle > 5) {
            if (!(threadIdx.x & 31)) of.stage[threadIdx.x >> 5] = sum;
            __syncthreads();
            for (unsigned k = 1; k < 1u << (idle - 5) && !(t & ((1u << idle) - 1)); ++k) {
                sum.x += of.stage[(t >> 5) + k].x;
                sum.y += of.stage[(t >> 5) + k].y;
            }
        }
        if (of.live && !(t & ((1u << idle) - 1))) {
            double* const here = of.sums + 2 * ((u64)(first >> 16) * of.stride + entry);
            atomicAdd(here, (double)sum.x);
            atomicAdd(here + 1, (double)sum.y);
        }
    }
    __syncthreads();
}

// A matrix on `count` register bits, 4 bits for each, entry by entry.
template <class Words>
__device__ __forceinline__ void of_any(
    amp (&l)[16], amp (&x)[16], amp* tile, const Places& places, const Table& of, const Words& words, const int at,
    const unsigned count, const u64 bits, const unsigned t)
{
    const unsigned size = 1u << count;
    const auto registers = [&](unsigned number) {
        unsigned found = 0;
#pragma unroll 1
        for (unsigned k = 0; k < count; ++k) found |= (number >> k & 1) << (bits >> 4 * k & 15);
        return found;
    };
    unsigned row = 0, column = 0;  // which registers are at the places of those that are 0 in the mixed bits
#pragma unroll 1
    for (unsigned entry = 0; entry < size * size; ++entry) {
        const unsigned next_row = registers(entry >> count), next_column = registers(entry & (size - 1));
        turn(l, row ^ next_row);
        turn(x, column ^ next_column);
        row = next_row;
        column = next_column;
        park_products(l, x, tile, places, of.which);
        add_entries(tile, of, words, at, entry, t);
    }
    turn(l, row);
    turn(x, column);
}
