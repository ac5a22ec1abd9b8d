// Shots of one state without a round trip to the host. The sums of |amplitude|^2 behind each value of the highest wires
// are weights, in groups. A block lets its shot fall on a group, on a weight of it, and on an amplitude behind that.

#define MEMBERS 256  // weights of a group, and threads of a block
#define MOST_EACH 16  // amplitudes of a thread

// Adds up the parts of each weight, in the order of the wires' values, and the weights of each group.
extern "C" __global__ void __launch_bounds__(MEMBERS) group_weights(
    const double* sums,  // [parts, width], by what is stored on the wires' bits
    double* weights,     // [groups, MEMBERS]
    double* totals,      // [groups]
    const u64 parts,
    const u64 width,
    const u64 flip)      // which of these bits are stored inverted
{
    __shared__ double sum[MEMBERS];
    const unsigned t = threadIdx.x;
    const u64 x = (u64)blockIdx.x * MEMBERS + t;
    double mine = 0;
    if (x < width)
        for (u64 p = 0; p < parts; ++p) mine += sums[p * width + (x ^ flip)];
    weights[x] = sum[t] = mine;
    for (unsigned half = MEMBERS >> 1; half; half >>= 1) {
        __syncthreads();
        if (t < half) sum[t] += sum[t + half];
    }
    if (t == 0) totals[blockIdx.x] = sum[0];
}

// The weights of a block's threads, their running sums, and what one thread finds for all.
struct Block { double own[MEMBERS], ends[MEMBERS], warps[MEMBERS / 32], rest; unsigned at; };

// Adds up each thread's own `each` weights, and these over threads; returns the sum of all.
template <typename Weight>
__device__ __forceinline__ double weigh(Block& block, const Weight& weight, const unsigned each, const bool any)
{
    const unsigned t = threadIdx.x;
    double mine = 0;
    if (any) {
#pragma unroll 8
        for (unsigned k = 0; k < each; ++k) mine += weight(k);
    }
    double end = mine;  // of the running sum in the warp
    for (unsigned reach = 1; reach < 32; reach <<= 1) {
        const double before = __shfl_up_sync(0xffffffff, end, reach);
        if (t % 32 >= reach) end += before;
    }
    if (t % 32 == 31) block.warps[t / 32] = end;
    __syncthreads();  // besides, all have read what is there
    double before = 0;
    for (unsigned warp = 0; warp < t / 32; ++warp) before += block.warps[warp];
    block.own[t] = mine;
    block.ends[t] = before + end;
    __syncthreads();
    return block.ends[MEMBERS - 1];
}

// The first of all weights whose running sum is larger than a target; beyond all sums, by rounding, the last that is
// not 0. What the target reaches into that weight becomes the target.
template <typename Weight>
__device__ __forceinline__ unsigned fallen(Block& block, const Weight& weight, const unsigned each, double& target)
{
    unsigned at = 0;
    for (unsigned step = MEMBERS >> 1; step; step >>= 1) at += block.ends[at + step - 1] <= target ? step : 0;
    while (at < MEMBERS - 1 && block.own[at] == 0) ++at;
    while (at && block.own[at] == 0) --at;
    const double rest = at ? target - block.ends[at - 1] : target;
    if (threadIdx.x == at) {
        double sum = 0, before = 0;
        unsigned found = 0;
        bool passed = false;
#pragma unroll 8
        for (unsigned k = 0; k < each; ++k) {
            const double mine = weight(k);
            if (!passed && mine > 0) {
                found = k;
                before = sum;
                passed = sum + mine > rest;
            }
            sum += mine;
        }
        block.at = at * each + found;
        block.rest = rest > before ? rest - before : 0;
    }
    __syncthreads();
    target = block.rest;
    return block.at;
}

extern "C" __global__ void __launch_bounds__(MEMBERS, 4) draw_shots(
    const mem* state,
    const double* weights,
    const double* totals,
    const double* numbers,  // of each shot, in [0, 1)
    u64* values,            // of each shot, and behind them the squared norm, a double
    const u64 groups,
    const u64 searched,     // the lowest wires, which are drawn by amplitudes
    const u64 flip,         // index bits that are stored inverted
    const Bits bits)        // of all wires
{
    __shared__ Block block;
    __shared__ u64 places[MOST_EACH];
    const unsigned t = threadIdx.x;
    const unsigned share = groups > MEMBERS ? groups / MEMBERS : 1;
    const auto total = [&](unsigned k) { return totals[t * share + k]; };
    const double norm = weigh(block, total, share, t * share < groups);
    double target = numbers[blockIdx.x] * norm;
    const u64 group = fallen(block, total, share, target);
    const auto weight = [&](unsigned) { return weights[group * MEMBERS + t]; };
    weigh(block, weight, 1, true);
    const u64 prefix = (group * MEMBERS + fallen(block, weight, 1, target)) << searched;
    const unsigned size = 1u << searched;
    const unsigned each = size > MEMBERS ? size / MEMBERS : 1;
    const u64 mine = placed(prefix | t * each, bits) ^ flip;
    if (t < each) places[t] = placed(t, bits);
    __syncthreads();
    const auto amplitude = [&](unsigned k) { return square(state[mine ^ places[k]]); };
    weigh(block, amplitude, each, t < size);
    const unsigned found = fallen(block, amplitude, each, target);
    if (t) return;
    values[blockIdx.x] = prefix | found;
    if (blockIdx.x == 0) ((double*)values)[gridDim.x] = norm;
}
