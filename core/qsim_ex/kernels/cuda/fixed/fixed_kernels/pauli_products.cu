// H|ψ⟩ for sums H of Pauli strings, for every row of a batch, and the shares of Re ⟨ψ|H|ψ⟩ of each block.
//
// Strings with one X-part x move amplitudes alike: (Hψ)[i] = Σ_x w_x(i) ψ[i ^ x], where w_x(i) is the sum of their coefficients,
// each with the sign of parity(i & z).
#define EACH 8

// What the strings of an X-part add up to, at 8 indices that differ in bits 8 to 10. Strings are in the order of these bits of
// their Z-parts, so that a Walsh–Hadamard transform of 8 sums does for all indices. Returns whether a weight is not real.
__device__ __forceinline__ bool weigh(
    amp (&weights)[EACH], const u64 index, const u64* zs, const amp* coefficients, u64 string, const u64 end)
{
    bool imaginary = false;
    u64 z = zs[string];
#pragma unroll
    for (unsigned j = 0; j < EACH; ++j) {
        weights[j].x = weights[j].y = 0;
        while (string < end && (z >> 8 & 7) == j) {
            const amp c = coefficients[string];
            const bool odd = __popcll(index & z) & 1;
            weights[j].x += odd ? -c.x : c.x;
            if (c.y != 0) {
                weights[j].y += odd ? -c.y : c.y;
                imaginary = true;
            }
            z = zs[++string];
        }
    }
#pragma unroll
    for (int half = 1; half < EACH; half *= 2) {
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
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

// Some X-parts of a sum, and how thread blocks follow each other: those that run at the same time share what they read in the
// second cache, if they differ in index bits of the X-parts.
struct Group {
    u64 begin, end;  // of X-parts, which are those of sum `sum`
    u64 sum, sums;
    u64 strings_at;  // where Z-parts begin among the words
    u64 bits, parts, run;  // a thread block has 2^run chunks of 2048 amplitudes, one behind the other
    u64 adds;        // whether results are added to what is there
    u64 last;        // for pauli_tiles.cu
    u64 weighted;    // whether the sums of a row are added up, with factors
};

extern "C" __global__ void __launch_bounds__(256) pauli_products(
    const mem* states, mem* out, double* values, const u64* words, const amp* coefficients,
    const double* factors,  // [rows, sums], or none
    const Group group, const Bits order)  // out: [rows, sums, 2^bits], or [rows, 2^bits] with factors; values: [rows, 2^parts]
{
    __shared__ double shares[256];
    const u64 size = 1ull << group.bits, row = blockIdx.x >> group.parts;
    const mem* const state = states + (row << group.bits);
    const u64 own = row * group.sums + group.sum;
    mem* const to = out + ((group.weighted ? row : own) << group.bits);
    const real weight = group.weighted ? factors[own] : 1;
    const u64* const zs = words + group.strings_at;  // words: each X-part and where its strings end; Z-parts
    const bool small = group.bits < 11;
    double value = 0;
    for (u64 k = 0; k < 1ull << group.run; ++k) {
        const u64 chunk = (blockIdx.x & ((1ull << group.parts) - 1)) << group.run | k;
        const u64 base = placed(chunk, order) | threadIdx.x;
        if (base >= size) continue;
        amp found[EACH];
#pragma unroll
        for (int k = 0; k < EACH; ++k) found[k].x = found[k].y = 0;
        for (u64 number = group.begin; number < group.end; ++number) {
            const u64 x = words[2 * number], first = number ? words[2 * number - 1] : 0;
            const u64 there = (base ^ x) & ~0x700ull;
            const unsigned flipped = x >> 8 & 7;
            amp weights[EACH];
            const bool imaginary = weigh(weights, base, zs, coefficients, first, words[2 * number + 1]);
#pragma unroll
            for (int k = 0; k < EACH; ++k) {
                const unsigned at = (k ^ flipped) << 8;
                if (small && (there | at) >= size) continue;
                const amp a = state[there | at];
                found[k].x += weights[k].x * a.x;
                found[k].y += weights[k].x * a.y;
                if (!imaginary) continue;
                found[k].x -= weights[k].y * a.y;
                found[k].y += weights[k].y * a.x;
            }
        }
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const u64 i = base ^ (u64)k << 8;
            if (small && i >= size) continue;
            const amp a = state[i];
            value += found[k].x * a.x + found[k].y * a.y;
            found[k].x *= weight;
            found[k].y *= weight;
            if (group.adds) {
                const amp before = to[i];
                found[k].x += before.x;
                found[k].y += before.y;
            }
            to[i] = found[k];
        }
    }
    shares[threadIdx.x] = value;
    for (unsigned half = 128; half; half >>= 1) {
        __syncthreads();
        if (threadIdx.x < half) shares[threadIdx.x] += shares[threadIdx.x + half];
    }
    if (threadIdx.x == 0) values[blockIdx.x] = shares[0];
}
