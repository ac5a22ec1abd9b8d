// H|ψ⟩ for sums H of Pauli strings, for every row of a batch, and the shares of Re ⟨ψ|H|ψ⟩ of each block.
//
// Strings with one X-part x move amplitudes alike: (Hψ)[i] = Σ_x w_x(i) ψ[i ^ x], where w_x(i) is the sum of their coefficients,
// each with the sign of parity(i & z). Weights and results are in double precision.
#define EACH 8

// The sum over the strings of an X-part, at 8 indices that differ in bits 8 to 10.
__device__ __forceinline__ void weigh(
    double2 (&weights)[EACH], const u64 index, const u64* zs, const double2* coefficients, const u64 count)
{
#pragma unroll
    for (int k = 0; k < EACH; ++k) weights[k].x = weights[k].y = 0;
    for (u64 s = 0; s < count; ++s) {
        const u64 z = zs[s];
        const double2 c = coefficients[s];
        const unsigned first = __popcll(index & z) & 1, high = (unsigned)(z >> 8);
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const unsigned odd = first ^ (k & 1 ? high : 0) ^ (k & 2 ? high >> 1 : 0) ^ (k & 4 ? high >> 2 : 0);
            weights[k].x += odd & 1 ? -c.x : c.x;
            weights[k].y += odd & 1 ? -c.y : c.y;
        }
    }
}

extern "C" __global__ void __launch_bounds__(256) pauli_products(
    const mem* states, mem* out, double* values, const u64* words, const double2* coefficients, const u64 sums,
    const u64 strings_at, const unsigned bits, const unsigned parts)  // out: [rows, sums, 2^bits]; values: [rows, sums, 2^parts]
{
    __shared__ double shares[256];
    const u64 size = 1ull << bits, one = blockIdx.x >> parts, sum = one % sums;
    const mem* const state = states + (one / sums << bits);
    mem* const to = out + (one << bits);
    // words: where each sum's X-parts end; of each X-part itself and where its strings end; Z-parts
    const u64* const xs = words + sums;
    const u64* const zs = words + strings_at;
    const u64 begin = sum ? words[sum - 1] : 0, end = words[sum];
    double value = 0;
    for (u64 base = (blockIdx.x & ((1ull << parts) - 1)) * (256 * EACH) + threadIdx.x; base < size; base += 256ull * EACH << parts) {
        double2 found[EACH];
#pragma unroll
        for (int k = 0; k < EACH; ++k) found[k].x = found[k].y = 0;
        for (u64 number = begin; number < end; ++number) {
            const u64 x = xs[2 * number], first = number ? xs[2 * number - 1] : 0;
            double2 weights[EACH];
            weigh(weights, base, zs + first, coefficients + first, xs[2 * number + 1] - first);
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
            amp written;
            written.x = found[k].x;
            written.y = found[k].y;
            to[i] = written;
            value += found[k].x * a.x + found[k].y * a.y;
        }
    }
    shares[threadIdx.x] = value;
    for (unsigned half = 128; half; half >>= 1) {
        __syncthreads();
        if (threadIdx.x < half) shares[threadIdx.x] += shares[threadIdx.x + half];
    }
    if (threadIdx.x == 0) values[blockIdx.x] = shares[0];
}
