// Σ_i conj(a[i ^ x])·(−1)^parity(i & z)·a[i] for every row of a batch and up to 8 masks z that share x.
//
// The terms of i and j = i ^ x are T·s and conj(T)·s·(−1)^parity(x & z) with T = conj(a[j])·a[i], s the sign of i: their
// sum is 2 s·Re T or 2i s·Im T. So a pair is read once and adds one real number for each mask. Where a row has few
// amplitudes, several rows share a block.
#define MASKS 8

struct Group {
    u64 x, below;        // below: the bits below the highest bit of x; all bits if x is 0
    u64 count, odd;      // masks; of which of them the sum is imaginary
    u64 first;           // where their results begin among those of a row
    u64 z[MASKS];
};

extern "C" __global__ void __launch_bounds__(256) paulis(
    const mem* state, double* sums, const u64* words, const unsigned groups, const u64 rows, const unsigned bits,
    const unsigned lanes, const unsigned parts, const u64 width)  // sums: [rows, 2^parts, width]
{
    __shared__ double sum[MASKS][256];
    __shared__ Group group;
    const unsigned t = threadIdx.x, own = t & ((1u << lanes) - 1);
    const u64 part = blockIdx.x & ((1u << parts) - 1), rest = blockIdx.x >> parts;
    const u64 row = (rest / groups << (8 - lanes)) + (t >> lanes);
    if (t < sizeof(Group) / 8) ((u64*)&group)[t] = words[rest % groups * (sizeof(Group) / 8) + t];
    __syncthreads();
    const u64 x = group.x, below = group.below;
    const unsigned count = (unsigned)group.count, odd = (unsigned)group.odd;
    double mine[MASKS];
#pragma unroll
    for (int k = 0; k < MASKS; ++k) mine[k] = 0;
    if (row < rows) {
        const mem* const here = state + (row << bits);
        const u64 share = (1ull << bits) >> (x != 0) >> parts;
        for (u64 j = part * share + own; j < (part + 1) * share; j += 1u << lanes) {
            const u64 i = (j & ~below) << 1 | (j & below);
            const amp a = here[i], b = here[i ^ x];
            const double re = (double)b.x * a.x + (double)b.y * a.y;
            const double im = (double)b.x * a.y - (double)b.y * a.x;
#pragma unroll
            for (int k = 0; k < MASKS; ++k) {
                if (k >= count) break;
                const double term = odd >> k & 1 ? im : re;
                mine[k] += __popcll(i & group.z[k]) & 1 ? -term : term;
            }
        }
    }
#pragma unroll
    for (int k = 0; k < MASKS; ++k) {
        if (k < count) sum[k][t] = mine[k];
    }
    for (unsigned bit = 1u << lanes >> 1; bit; bit >>= 1) {
        __syncthreads();
        if (t & bit) continue;
        for (unsigned k = 0; k < count; ++k) sum[k][t] += sum[k][t | bit];
    }
    __syncthreads();
    if (row >= rows) return;
    for (unsigned k = own; k < count; k += 1u << lanes)
        sums[(row << parts | part) * width + group.first + k] = (x ? 2 : 1) * sum[k][t ^ own];
}
