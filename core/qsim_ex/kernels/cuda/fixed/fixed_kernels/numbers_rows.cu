// The numbers of every row of a batch, see made.cu: out [rows, count]. What is given to a row, number k being the one at
// takes[k], are `known` reals of given [rows, width], and behind them those of others [rows, more]. Blocks count pieces of
// 256 numbers, those of a row behind one another.

struct Taken {
    const double* given;
    const double* others;
    const unsigned* takes;
    unsigned known;
    __device__ __forceinline__ double operator[](const unsigned k) const
    {
        const unsigned at = takes[k];
        return at < known ? given[at] : others[at - known];
    }
};

extern "C" __global__ void __launch_bounds__(256) numbers_rows(
    const unsigned* words, const unsigned* takes, real* out, const u64 count, const double* given, const double* others,
    const u64 width, const u64 more, const unsigned known, const unsigned pieces)
{
    const u64 row = blockIdx.x / pieces, k = blockIdx.x % pieces * 256 + threadIdx.x;
    const Taken taken = {given + row * width, others + row * more, takes, known};
    if (k < count) out[row * count + k] = (real)made(taken, words, words[k]);
}
