// Instructions of the tensor cores that the engine does not use: d ← a b + d with a of 16 rows. Behind the definitions of
// fragments.cu, or DOUBLE and DEPTH, how many columns one instruction takes (16, 4; 0: eight rows and four).

#ifndef DOUBLE
#ifdef F16
#define SHAPE "m16n8k16.row.col.f32.f16.f16.f32"
#else
#define SHAPE "m16n8k16.row.col.f32.bf16.bf16.f32"
#endif

__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned." SHAPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#ifdef F16
__device__ __forceinline__ unsigned packed(float low, float high)
{
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

__device__ __forceinline__ void unpacked(unsigned both, float& low, float& high)
{
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }"
        : "=f"(low), "=f"(high)
        : "r"(both));
}

__device__ __forceinline__ unsigned block_max(unsigned value)
{
    __shared__ unsigned most;
    if (threadIdx.x == 0) most = 0;
    __syncthreads();
    value = __reduce_max_sync(0xffffffffu, value);
    if (threadIdx.x % 32 == 0) atomicMax(&most, value);
    __syncthreads();
    return most;
}
#elif defined(BF16)
__device__ __forceinline__ unsigned packed(float low, float high)
{
    unsigned both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

__device__ __forceinline__ void unpacked(unsigned both, float& low, float& high)
{
    low = __uint_as_float(both << 16);
    high = __uint_as_float(both & 0xffff0000u);
}
#endif
#else
__device__ __forceinline__ void mma(double (&d)[4], const double (&a)[8], const double (&b)[4])
{
#if DEPTH == 16
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
          "d"(b[1]), "d"(b[2]), "d"(b[3]));
#elif DEPTH == 4
#pragma unroll
    for (int k = 0; k < 4; ++k)
        asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
            : "d"(a[2 * k]), "d"(a[2 * k + 1]), "d"(b[k]));
#else
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
        for (int h = 0; h < 2; ++h)
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(d[2 * h]), "+d"(d[2 * h + 1])
                : "d"(a[2 * k + h]), "d"(b[k]));
#endif
}
#endif
