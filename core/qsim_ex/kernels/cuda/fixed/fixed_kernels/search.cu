// Which of the amplitudes behind a prefix each shot falls on.

#define MOST 4096  // amplitudes behind one prefix

// A block has one prefix and all the shots that fell on it. It adds up |a|^2 in the order of the values of `bits`, and
// for each shot finds the first value whose sum is larger than the shot's target.
extern "C" __global__ void __launch_bounds__(256) search(
    const mem* state, const u64* bases, const u64* runs, const double* targets, unsigned* found, const Bits bits)
{
    __shared__ double sums[MOST];
    __shared__ double ends[256];
    const unsigned t = threadIdx.x;
    const unsigned size = 1u << bits.count;
    const unsigned share = size > 256 ? size >> 8 : 1;
    const u64 first = runs[blockIdx.x], last = runs[blockIdx.x + 1];
    const u64 base = bases[blockIdx.x];
    double sum = 0;
    for (unsigned k = 0; k < share && t * share < size; ++k) {
        const amp a = state[base ^ placed(t * share + k, bits)];
        sum += (double)a.x * a.x + (double)a.y * a.y;
        sums[t * share + k] = sum;
    }
    ends[t] = sum;
    for (unsigned reach = 1; reach < 256; reach <<= 1) {  // running sums over threads
        __syncthreads();
        const double before = t >= reach ? ends[t - reach] : 0;
        __syncthreads();
        ends[t] += before;
    }
    __syncthreads();
    if (t > 0 && t * share < size)
        for (unsigned k = 0; k < share; ++k) sums[t * share + k] += ends[t - 1];
    __syncthreads();
    const double whole = sums[size - 1];
    for (u64 shot = first + t; shot < last; shot += 256) {
        const double target = targets[shot];
        unsigned below = 0;
        if (target < whole) {
            for (unsigned step = size >> 1; step; step >>= 1) below += sums[below + step - 1] <= target ? step : 0;
        } else {  // by rounding: the last value that has any weight
            below = size - 1;
            while (below && sums[below - 1] >= whole) --below;
        }
        found[shot] = below;
    }
}
