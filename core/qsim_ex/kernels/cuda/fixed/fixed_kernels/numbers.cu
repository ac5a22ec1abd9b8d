// The numbers of one run, see made.cu.

// Numbers given by value: as an argument they cost no transfer of their own.
struct Few { double v[448]; };
struct Some { double v[1280]; };
struct Many { double v[4000]; };

extern "C" __global__ void __launch_bounds__(256) numbers_few(
    const unsigned* words, real* out, const u64 count, const __grid_constant__ Few given)
{
    const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = (real)made(given.v, words, words[i]);
}

extern "C" __global__ void __launch_bounds__(256) numbers_some(
    const unsigned* words, real* out, const u64 count, const __grid_constant__ Some given)
{
    const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = (real)made(given.v, words, words[i]);
}

extern "C" __global__ void __launch_bounds__(256) numbers_many(
    const unsigned* words, real* out, const u64 count, const __grid_constant__ Many given)
{
    const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = (real)made(given.v, words, words[i]);
}

extern "C" __global__ void __launch_bounds__(256) numbers(
    const unsigned* words, real* out, const u64 count, const double* given)
{
    const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = (real)made(given, words, words[i]);
}
