// The numbers of every row of a batch, see made.cu: out [rows, count] from given [rows, width]. Blocks count pieces of 256
// numbers, those of a row behind one another.
extern "C" __global__ void __launch_bounds__(256) numbers_rows(
    const unsigned* words, real* out, const u64 count, const double* given, const u64 width, const unsigned pieces)
{
    const u64 row = blockIdx.x / pieces, k = blockIdx.x % pieces * 256 + threadIdx.x;
    if (k < count) out[row * count + k] = (real)made(given + row * width, words, words[k]);
}
