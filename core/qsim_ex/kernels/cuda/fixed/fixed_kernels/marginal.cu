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

// Adds the squares of two neighbours to two sums.
template <typename Stored>
__device__ __forceinline__ void add_pair(const Stored* at, double& low, double& high)
{
    low += square(at[0]);
    high += square(at[1]);
}

// Two amplitudes of eight bytes are loaded as one vector, which no cache needs to keep.
__device__ __forceinline__ void add_pair(const float2* at, double& low, double& high)
{
    const float4 both = __ldcs((const float4*)at);
    low += (double)both.x * both.x + (double)both.y * both.y;
    high += (double)both.z * both.z + (double)both.w * both.w;
}

// The same where bit 0 is no condition: a thread has two neighbours at a time, and bits 1 and up are its number.
extern "C" __global__ void __launch_bounds__(128) marginal_pairs(
    const mem* state,
    double* sums,
    const u64 in_thread,
    const u64 in_block,
    const u64 in_loop,
    const u64 value,
    const u64 steps,
    const unsigned unwanted,   // bit 0, and above it those of a thread's number
    const u64 groups,
    const Bits wanted)
{
    __shared__ double other[2][128];
    const unsigned t = threadIdx.x;
    const unsigned over = unwanted >> 1;
    const u64 part = blockIdx.x / groups;
    const u64 first = value | deposit(t, in_thread) | deposit(blockIdx.x % groups, in_block);
    u64 x = deposit(part * steps, in_loop);
    double low = 0, high = 0;
#pragma unroll 16
    for (u64 k = 0; k < steps; ++k) {
        add_pair(state + (first | x), low, high);
        x = (x - in_loop) & in_loop;  // counts within the mask
    }
    for (unsigned bit = 1; bit < 32; bit <<= 1)
        if (over & bit) {
            low += __shfl_xor_sync(0xffffffff, low, bit);
            high += __shfl_xor_sync(0xffffffff, high, bit);
        }
    for (unsigned bit = 32; bit < 128; bit <<= 1)
        if (over & bit) {
            __syncthreads();
            other[0][t] = low;
            other[1][t] = high;
            __syncthreads();
            low += other[0][t ^ bit];
            high += other[1][t ^ bit];
        }
    if (t & over) return;
    double* const here = sums + (part << wanted.count);
    if (unwanted & 1) {
        here[extracted(first, wanted)] = low + high;
    } else {
        here[extracted(first, wanted)] = low;
        here[extracted(first | 1, wanted)] = high;
    }
}
