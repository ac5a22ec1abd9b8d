// Sums of |amplitude|² along directions, which are any sets of index bits: see kernels/along.py.

struct Along {
    u64 lanes[8];   // of a thread's number
    u64 groups[40]; // of a block's number
    u64 steps[64];  // of the walk: each thread takes all their sums, one more or less at a time
};

// A block stands for a group and for one of the parts into which the walk is cut. Sums run in the same order every time.
extern "C" __global__ void __launch_bounds__(256) along(
    const mem* state,
    double* sums,           // [parts, groups, lanes that are not summed over]
    const u64 base,
    const u64 groups,       // their number
    const u64 walked,       // log2 of the places that a thread visits
    const u64 summed,       // so many of the lowest bits of a thread's number are summed over
    const Along at)
{
    __shared__ double sum[256];
    const unsigned t = threadIdx.x;
    u64 x = base;
    for (int k = 0; k < 8; ++k) x ^= t >> k & 1 ? at.lanes[k] : 0;
    u64 part = blockIdx.x / groups;
    u64 group = blockIdx.x % groups;
    for (int k = 0; group; ++k, group >>= 1) x ^= group & 1 ? at.groups[k] : 0;
    for (u64 k = walked; part; ++k, part >>= 1) x ^= part & 1 ? at.steps[k] : 0;
    double mine = 0;
    for (u64 k = 1; k <= (u64)1 << walked; ++k) {
        mine += square(state[x]);
        int changed = 0;
        while (!(k >> changed & 1)) ++changed;
        x ^= at.steps[changed];
    }
    sum[t] = mine;
    for (unsigned bit = 1; bit < 1u << summed; bit <<= 1) {
        __syncthreads();
        if (!(t & (2 * bit - 1))) sum[t] += sum[t | bit];
    }
    const unsigned left = blockDim.x >> summed;
    if (!(t & ((1u << summed) - 1))) sums[blockIdx.x * (u64)left + (t >> summed)] = sum[t];
}
