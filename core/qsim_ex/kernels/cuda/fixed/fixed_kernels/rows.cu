// Rows of a batch: where they begin, where they go, and partial sums of each.

// Amplitude 0 of every row becomes 1.
extern "C" __global__ void __launch_bounds__(256) begin_rows(mem* state, const u64 rows, const unsigned bits)
{
    amp one;
    one.x = 1;
    one.y = 0;
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < rows; k += (u64)gridDim.x * blockDim.x)
        state[k << bits] = one;
}

// Row k of `to` becomes row rows[k] of `source`; size: amplitudes of all these rows.
extern "C" __global__ void __launch_bounds__(256) take_rows(
    mem* to, const mem* source, const u64* rows, const u64 size, const unsigned bits)
{
    const u64 last = (1ull << bits) - 1;
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < size; k += (u64)gridDim.x * blockDim.x)
        to[k] = source[rows[k >> bits] << bits | (k & last)];
}

// out[row, x] = Σ_p in[row, p, x]; size: of `out`
extern "C" __global__ void __launch_bounds__(256) fold_rows(
    const double* in, double* out, const u64 size, const u64 parts, const u64 width)
{
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < size; k += (u64)gridDim.x * blockDim.x) {
        const double* const first = in + k / width * parts * width + k % width;
        double sum = 0;
        for (u64 p = 0; p < parts; ++p) sum += first[p * width];
        out[k] = sum;
    }
}
