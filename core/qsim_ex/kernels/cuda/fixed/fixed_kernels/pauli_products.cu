// H|ψ⟩ for sums H of Pauli strings, for every row of a batch, and the shares of Re ⟨ψ|H|ψ⟩ of each block.
//
// Strings with one X-part x move amplitudes alike: (Hψ)[i] = Σ_x w_x(i) ψ[i ^ x], where w_x(i) is the sum of their coefficients,
// each with the sign of parity(i & z).
#define EACH 8

// What the strings of an X-part add up to, at 8 indices that differ in bits 8 to 10.
__device__ __forceinline__ void weigh(
    amp (&weights)[EACH], const u64 index, const u64* zs, const amp* coefficients, const u64 count)
{
#pragma unroll
    for (int k = 0; k < EACH; ++k) weights[k].x = weights[k].y = 0;
    for (u64 s = 0; s < count; ++s) {
        const u64 z = zs[s];
        const amp c = coefficients[s];
        const unsigned first = __popcll(index & z) & 1, high = (unsigned)(z >> 8);
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const unsigned odd = first ^ (k & 1 ? high : 0) ^ (k & 2 ? high >> 1 : 0) ^ (k & 4 ? high >> 2 : 0);
            weights[k].x += odd & 1 ? -c.x : c.x;
            if (c.y != 0) weights[k].y += odd & 1 ? -c.y : c.y;  // of strings with an odd number of Y
        }
    }
}

// Some X-parts of a sum, and how thread blocks follow each other: those that run at the same time share what they read in the
// second cache, if they differ in index bits of the X-parts.
struct Group {
    u64 begin, end;  // of X-parts, which are those of sum `sum`
    u64 sum, sums;
    u64 strings_at;  // where Z-parts begin among the words
    u64 bits, parts, run;  // a thread block has 2^run chunks of 2048 amplitudes, one behind the other
    u64 adds;        // whether results are added to what is there
};

extern "C" __global__ void __launch_bounds__(256) pauli_products(
    const mem* states, mem* out, double* values, const u64* words, const amp* coefficients,
    const Group group, const Bits order)  // out: [rows, sums, 2^bits]; values: [rows, 2^parts]
{
    __shared__ double shares[256];
    const u64 size = 1ull << group.bits, row = blockIdx.x >> group.parts;
    const mem* const state = states + (row << group.bits);
    mem* const to = out + (row * group.sums + group.sum << group.bits);
    const u64* const zs = words + group.strings_at;  // words: each X-part and where its strings end; Z-parts
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
            amp weights[EACH];
            weigh(weights, base, zs + first, coefficients + first, words[2 * number + 1] - first);
#pragma unroll
            for (int k = 0; k < EACH; ++k) {
                const u64 from = base ^ x ^ (u64)k << 8;
                if (from >= size) continue;
                const amp a = state[from];
                found[k].x += weights[k].x * a.x - weights[k].y * a.y;
                found[k].y += weights[k].x * a.y + weights[k].y * a.x;
            }
        }
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const u64 i = base ^ (u64)k << 8;
            if (i >= size) continue;
            const amp a = state[i];
            value += found[k].x * a.x + found[k].y * a.y;
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
