// Index bits change places within tiles, in place: position k of the new index is position from[k] of the old one,
// XOR bit k of a mask. A block reads its tile in the order of memory and writes it in the order of memory.
struct Move { unsigned char from[12]; };

__device__ __forceinline__ unsigned old_position(const unsigned position, const Move& move, const int count)
{
    unsigned old = 0;
    for (int k = 0; k < count; ++k) old |= (position >> k & 1) << move.from[k];
    return old;
}

extern "C" __global__ void __launch_bounds__(256) permute(
    mem* state, const Bits tile, const u64 tile_mask, const Move move, const unsigned flip)
{
    __shared__ amp near[1 << TILE];
    __shared__ u64 step[(1 << TILE) / 256];        // what the higher bits of a position add, in memory
    __shared__ unsigned hop[(1 << TILE) / 256];    // and, by XOR, in the old position
    const unsigned t = threadIdx.x;
    const unsigned size = 1u << tile.count, rounds = size / blockDim.x;
    if (t < rounds) {
        step[t] = placed((u64)t * blockDim.x, tile);
        hop[t] = old_position(t * blockDim.x, move, tile.count);
    }
    const u64 here = inserted(blockIdx.x, tile_mask) | placed(t, tile);
    const unsigned old = old_position(t ^ flip, move, tile.count);
    __syncthreads();
    for (unsigned k = 0; k < rounds; ++k) near[k * blockDim.x + t] = state[here | step[k]];
    __syncthreads();
    for (unsigned k = 0; k < rounds; ++k) state[here | step[k]] = near[old ^ hop[k]];
}
