// Adds rows: out[x] = Σ_p in[p, x].
extern "C" __global__ void __launch_bounds__(256) fold(const double* in, double* out, const u64 rows, const u64 width)
{
    const u64 x = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    double sum = 0;
#pragma unroll 8
    for (u64 p = 0; p < rows; ++p) sum += in[p * width + x];
    out[x] = sum;
}
