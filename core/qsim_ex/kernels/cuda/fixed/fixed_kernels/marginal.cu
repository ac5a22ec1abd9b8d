// Sums of |amplitude|² for each value of some bits. The bits of a thread's number are the lowest bits that are not
// conditions; a block stands for a value of the higher wanted bits and for one of the parts into which the other
// bits' values are cut. Sums run in the same order every time.
extern "C" __global__ void __launch_bounds__(256) marginal(
    const mem* state,
    double* sums,              // [parts, 2^wanted.count]
    const u64 in_thread,       // index bits of a thread's number
    const u64 in_block,        // wanted bits above them
    const u64 in_loop,         // other bits above them
    const u64 value,           // what the conditions ask for
    const u64 steps,           // values of the other bits in each part
    const unsigned unwanted,   // bits of a thread's number that are summed over
    const u64 groups,          // values of `in_block`
    const Bits wanted)
{
    __shared__ double sum[256];
    const unsigned t = threadIdx.x;
    const u64 part = blockIdx.x / groups;
    const u64 first = value | deposit(t, in_thread) | deposit(blockIdx.x % groups, in_block);
    u64 x = deposit(part * steps, in_loop);
    double mine = 0;
#pragma unroll 4
    for (u64 k = 0; k < steps; ++k) {
        mine += square(state[first | x]);
        x = (x - in_loop) & in_loop;  // counts within the mask
    }
    sum[t] = mine;
    for (unsigned bit = blockDim.x >> 1; bit; bit >>= 1) {
        __syncthreads();
        if ((unwanted & bit) && !(t & bit)) sum[t] += sum[t | bit];
    }
    __syncthreads();
    if (!(t & unwanted)) sums[(part << wanted.count) + extracted(first, wanted)] = sum[t];
}
