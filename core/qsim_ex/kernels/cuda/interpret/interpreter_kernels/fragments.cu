// The words of a matrix for the tensor cores: where its numbers are; slots in bytes, by XOR, of 8 thread bits when they read and
// when they write, of 2 register bits when they read and when they write, and of 2 bits that are looped over.
enum { READING = 1, WRITING = 9, READ_HOPS = 17, WRITE_HOPS = 19, LOOP_HOPS = 21, FRAGMENTS = 23 };

// A 16 × 16 matrix by the tensor cores, from the tile to the tile; which bits lanes stand for is the program's choice.
template <class Words>
__device__ __forceinline__ void multiply_fragments(
    amp* tile, const Words& words, const int at, const real* numbers, const unsigned t)
{
    // Lanes load different numbers, which the constant cache would give them one after the other. A pointer of which the
    // compiler does not know where it leads is read through the other cache.
#ifdef __CUDA_ARCH__
    asm volatile("" : "+l"(numbers));
#endif
    Matrix m;
    load(m, numbers, t & 31);
    __syncthreads();  // the matrix is on its way while warps wait for each other
    unsigned from = 0, to = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        from ^= spread(t, k) & words.w[at + READING + k];
        to ^= spread(t, k) & words.w[at + WRITING + k];
    }
    const auto hop_of = [&](unsigned number, int hops) {
        return (number & 1 ? words.w[at + hops] : 0) ^ (number & 2 ? words.w[at + hops + 1] : 0);
    };
#pragma unroll
    for (int first = 0; first < 4; first += TOGETHER) {
        amp a[4 * TOGETHER];
#pragma unroll
        for (int k = 0; k < 4 * TOGETHER; ++k)
            a[k] = near(tile, from ^ hop_of(first + k / 4, LOOP_HOPS) ^ hop_of(k & 3, READ_HOPS));
        const Scale s = scale_of(m, a);
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k) {
            amp c[4];
            multiply(m, s, a + 4 * k, c);
            if (k == 0) __syncwarp();  // lanes write what others of their warp have read
#pragma unroll
            for (int r = 0; r < 4; ++r)
                near(tile, to ^ hop_of(first + k, LOOP_HOPS) ^ hop_of(r, WRITE_HOPS)) = c[r];
        }
    }
}
