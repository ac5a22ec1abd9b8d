// The numbers of every row of a batch, see made.cu: out [rows, count] from given [rows, width], of which number k is the
// one at takes[k]. Blocks count pieces of 256 numbers, those of a row behind one another.

struct Taken {
    const double* row;
    const unsigned* takes;
    __device__ __forceinline__ double operator[](const unsigned k) const { return row[takes[k]]; }
};

extern "C" __global__ void __launch_bounds__(256) numbers_rows(
    const unsigned* words, const unsigned* takes, real* out, const u64 count, const double* given, const u64 width,
    const unsigned pieces)
{
    const u64 row = blockIdx.x / pieces, k = blockIdx.x % pieces * 256 + threadIdx.x;
    const Taken taken = {given + row * width, takes};
    if (k < count) out[row * count + k] = (real)made(taken, words, words[k]);
}
