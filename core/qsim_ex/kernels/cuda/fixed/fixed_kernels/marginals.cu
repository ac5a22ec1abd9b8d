// Sums of |amplitude|² for each value of some bits, for every row of a batch; see marginal.cu. Where a row has few
// amplitudes, several rows share a block: the low bits of a thread's number are of its row, the high ones count rows.
struct Cut {
    u64 in_thread, in_block, in_loop;  // index bits of a thread's number, wanted bits above them, other bits above them
    u64 value;                         // what the conditions ask for
    u64 unwanted;                      // bits of a thread's number that are summed over
    u64 steps;                         // values of the other bits in each part
    u64 rows, bits;                    // rows of 2^bits amplitudes
    u64 lanes, groups, parts;          // 2^lanes threads work on a row; 2^groups values of in_block; 2^parts parts
};

extern "C" __global__ void __launch_bounds__(256) marginals(
    const mem* state, double* sums, const Cut cut, const Bits wanted)  // sums: [rows, 2^parts, 2^wanted.count]
{
    __shared__ double sum[256];
    const unsigned t = threadIdx.x, own = t & ((1u << cut.lanes) - 1);
    const u64 block = blockIdx.x;
    const u64 row = (block >> (cut.groups + cut.parts) << (8 - cut.lanes)) + (t >> cut.lanes);
    const u64 part = block >> cut.groups & ((1ull << cut.parts) - 1);
    const u64 group = block & ((1ull << cut.groups) - 1);
    const u64 first = cut.value | deposit(own, cut.in_thread) | deposit(group, cut.in_block);
    double mine = 0;
    if (row < cut.rows) {
        const mem* const here = state + (row << cut.bits);
        u64 x = deposit(part * cut.steps, cut.in_loop);
#pragma unroll 4
        for (u64 k = 0; k < cut.steps; ++k) {
            mine += square(here[first | x]);
            x = (x - cut.in_loop) & cut.in_loop;  // counts within the mask
        }
    }
    sum[t] = mine;
    for (unsigned bit = 1u << cut.lanes >> 1; bit; bit >>= 1) {
        __syncthreads();
        if ((cut.unwanted & bit) && !(t & bit)) sum[t] += sum[t | bit];
    }
    __syncthreads();
    if (row < cut.rows && !(own & cut.unwanted))
        sums[((row << cut.parts | part) << wanted.count) + extracted(first, wanted)] = sum[t];
}
