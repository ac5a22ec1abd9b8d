// Σ conj(left)·right, a partial sum for each block: real parts and imaginary parts by turns.
extern "C" __global__ void __launch_bounds__(256) inner(
    const mem* left, const mem* right, double* sums, const u64 size)
{
    __shared__ double2 sum[256];
    const unsigned t = threadIdx.x;
    double2 mine = {0, 0};
#pragma unroll 4
    for (u64 i = (u64)blockIdx.x * blockDim.x + t; i < size; i += (u64)gridDim.x * blockDim.x) {
        const amp a = left[i], b = right[i];
        mine.x += (double)a.x * b.x + (double)a.y * b.y;
        mine.y += (double)a.x * b.y - (double)a.y * b.x;
    }
    sum[t] = mine;
    for (unsigned half = 128; half; half >>= 1) {
        __syncthreads();
        if (t < half) {
            sum[t].x += sum[t + half].x;
            sum[t].y += sum[t + half].y;
        }
    }
    if (t == 0) {
        sums[2 * (u64)blockIdx.x] = sum[0].x;
        sums[2 * (u64)blockIdx.x + 1] = sum[0].y;
    }
}
