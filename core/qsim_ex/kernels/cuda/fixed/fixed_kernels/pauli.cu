// Σ_i conj(a[i ^ x])·(−1)^parity(i & z)·a[i] for up to 8 masks z at once, a partial sum for each block.
struct Masks { u64 z[8]; };

extern "C" __global__ void __launch_bounds__(256) pauli(
    const amp* state, double* sums, const u64 size, const u64 x, const Masks masks)
{
    __shared__ double sum[256];
    const unsigned t = threadIdx.x;
    double mine[16];
#pragma unroll
    for (int k = 0; k < 16; ++k) mine[k] = 0;
    for (u64 i = (u64)blockIdx.x * blockDim.x + t; i < size; i += (u64)gridDim.x * blockDim.x) {
        const amp a = state[i], b = state[i ^ x];
        const double re = (double)b.x * a.x + (double)b.y * a.y;
        const double im = (double)b.x * a.y - (double)b.y * a.x;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const bool odd = __popcll(i & masks.z[k]) & 1;
            mine[2 * k] += odd ? -re : re;
            mine[2 * k + 1] += odd ? -im : im;
        }
    }
#pragma unroll
    for (int k = 0; k < 16; ++k) {
        __syncthreads();
        sum[t] = mine[k];
        for (unsigned half = 128; half; half >>= 1) {
            __syncthreads();
            if (t < half) sum[t] += sum[t + half];
        }
        if (t == 0) sums[16 * (u64)blockIdx.x + k] = sum[0];
    }
}
