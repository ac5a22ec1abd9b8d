// Parts of two states, of one shape: rows of low + 1 amplitudes, (low + 1) * gap apart.

// Some amplitudes of a part trade places with those of the other one, or take over their values.
extern "C" __global__ void __launch_bounds__(256) trade_parts(
    mem* mine, mem* theirs, const u64 first, const u64 end, const u64 low, const u64 gap, const u64 both)
{
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 k = first + (u64)blockIdx.x * blockDim.x + threadIdx.x; k < end; k += step) {
        const u64 i = (k & low) + (k & ~low) * gap;
        const mem a = theirs[i];
        if (both) theirs[i] = mine[i];
        mine[i] = a;
    }
}
