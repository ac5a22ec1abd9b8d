// H|ψ⟩ for X-parts that change few index bits, in a tile over these bits: each amplitude is read from memory once for all of
// them. See pauli_products.cu, which reads it once for each X-part.
#define HELD 16
#define LANES_OF_TILE (TILE - 4)

// What the strings of an X-part add up to at the 16 indices of a thread's registers. The highest 4 bits of a string's word are
// its Z-part on these index bits, in whose order strings are, so that a Walsh–Hadamard transform does for all. Returns whether
// a weight is not real.
__device__ __forceinline__ bool weigh(
    amp (&weights)[HELD], const u64 index, const u64* zs, const amp* coefficients, u64 string, const u64 end)
{
    bool imaginary = false;
    u64 z = zs[string];
#pragma unroll
    for (unsigned j = 0; j < HELD; ++j) {
        weights[j].x = weights[j].y = 0;
        while (string < end && z >> 60 == j) {
            const amp c = coefficients[string];
            const bool odd = __popcll(index & z) & 1;
            weights[j].x += odd ? -c.x : c.x;
            weights[j].y += odd ? -c.y : c.y;
            imaginary |= c.y != 0;
            z = zs[++string];
        }
    }
#pragma unroll
    for (int half = 1; half < HELD; half *= 2) {
#pragma unroll
        for (int j = 0; j < HELD; ++j) {
            if (j & half) continue;
            const amp a = weights[j], b = weights[j | half];
            weights[j].x = a.x + b.x;
            weights[j | half].x = a.x - b.x;
            if (!imaginary) continue;
            weights[j].y = a.y + b.y;
            weights[j | half].y = a.y - b.y;
        }
    }
    return imaginary;
}

// Some X-parts of a sum, on positions of the tile; the other fields are those of pauli_products.cu.
struct Group {
    u64 begin, end;
    u64 sum, sums;
    u64 strings_at;
    u64 bits, parts, run;  // a thread block has 2^run tiles, one behind the other
    u64 adds;
    u64 last;  // whether these are the last ones of the sum, so that the value is known
    u64 weighted;  // not here
};

// WEIGHED: whether there are weights that differ between a thread's registers.
template <bool WEIGHED>
__device__ __forceinline__ void multiply(
    const mem* states, mem* out, double* values, const u64* words, const amp* coefficients, const Group& group,
    const Bits& order)
{
    __shared__ amp tile[1 << TILE];
    __shared__ double shares[1 << LANES_OF_TILE];
    const unsigned t = threadIdx.x;
    const u64 row = blockIdx.x >> group.parts;
    const mem* const state = states + (row << group.bits);
    mem* const to = out + (row * group.sums + group.sum << group.bits);
    const u64* const zs = words + group.strings_at;
    u64 mine = 0, hop[4];
#pragma unroll
    for (int k = 0; k < LANES_OF_TILE; ++k) mine |= (u64)(t >> k & 1) << order.at[k];
#pragma unroll
    for (int k = 0; k < 4; ++k) hop[k] = 1ull << order.at[LANES_OF_TILE + k];
    double value = 0;
    for (u64 run = 0; run < 1ull << group.run; ++run) {
        const u64 number = (blockIdx.x & ((1ull << group.parts) - 1)) << group.run | run;
        u64 base = mine;
        for (int k = TILE; k < order.count; ++k) base |= (number >> (k - TILE) & 1) << order.at[k];
        amp found[HELD];
#pragma unroll
        for (int k = 0; k < HELD; ++k) {
            u64 at = base;
#pragma unroll
            for (int j = 0; j < 4; ++j) at |= k >> j & 1 ? hop[j] : 0;
            tile[t | k << LANES_OF_TILE] = state[at];
            found[k].x = found[k].y = 0;
            if (group.adds) found[k] = to[at];
        }
        __syncthreads();
        for (u64 part = group.begin; part < group.end; ++part) {
            const unsigned x = (unsigned)words[2 * part];
            const u64 first = part ? words[2 * part - 1] : 0, end = words[2 * part + 1];
            if (WEIGHED && zs[end - 1] >> 60) {
                amp weights[HELD];
                const bool imaginary = weigh(weights, base, zs, coefficients, first, end);
#pragma unroll
                for (int k = 0; k < HELD; ++k) {
                    const amp a = tile[(t | k << LANES_OF_TILE) ^ x];
                    found[k].x += weights[k].x * a.x;
                    found[k].y += weights[k].x * a.y;
                    if (!imaginary) continue;
                    found[k].x -= weights[k].y * a.y;
                    found[k].y += weights[k].y * a.x;
                }
                continue;
            }
            amp weight;
            weight.x = weight.y = 0;
            for (u64 string = first; string < end; ++string) {
                const amp c = coefficients[string];
                const bool odd = __popcll(base & zs[string]) & 1;
                weight.x += odd ? -c.x : c.x;
                weight.y += odd ? -c.y : c.y;
            }
#pragma unroll
            for (int k = 0; k < HELD; ++k) {
                const amp a = tile[(t | k << LANES_OF_TILE) ^ x];
                found[k].x += weight.x * a.x;
                found[k].y += weight.x * a.y;
                if (weight.y == 0) continue;
                found[k].x -= weight.y * a.y;
                found[k].y += weight.y * a.x;
            }
        }
        real share = 0;
        asm volatile("" : "+l"(base));  // or the addresses from above would be kept in registers
#pragma unroll
        for (int k = 0; k < HELD; ++k) {
            u64 at = base;
#pragma unroll
            for (int j = 0; j < 4; ++j) at |= k >> j & 1 ? hop[j] : 0;
            to[at] = found[k];
            if (!group.last) continue;
            const amp a = tile[t | k << LANES_OF_TILE];
            share += found[k].x * a.x;
            share += found[k].y * a.y;
        }
        value += share;
        __syncthreads();
    }
    shares[t] = value;
    for (unsigned half = 1 << (LANES_OF_TILE - 1); half; half >>= 1) {
        __syncthreads();
        if (t < half) shares[t] += shares[t + half];
    }
    if (t == 0) values[blockIdx.x] = shares[0];
}

// order: the index bits of a tile's positions, and then of the tile's number.
extern "C" __global__ void __launch_bounds__(1 << LANES_OF_TILE, 4) pauli_tiles(
    const mem* states, mem* out, double* values, const u64* words, const amp* coefficients, const double*,
    const __grid_constant__ Group group, const __grid_constant__ Bits order)
{
    multiply<false>(states, out, values, words, coefficients, group, order);
}

extern "C" __global__ void __launch_bounds__(1 << LANES_OF_TILE, 2) pauli_tiles_weighed(
    const mem* states, mem* out, double* values, const u64* words, const amp* coefficients, const double*,
    const __grid_constant__ Group group, const __grid_constant__ Bits order)
{
    multiply<true>(states, out, values, words, coefficients, group, order);
}
