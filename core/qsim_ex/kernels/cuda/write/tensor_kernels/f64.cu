__device__ __forceinline__ void mma(double (&d)[4], const double (&a)[8], const double (&b)[4])
{
#if __CUDA_ARCH__ >= 900
#pragma unroll
    for (int k = 0; k < 2; ++k)
        asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
            : "d"(a[4 * k]), "d"(a[4 * k + 1]), "d"(a[4 * k + 2]), "d"(a[4 * k + 3]), "d"(b[2 * k]),
              "d"(b[2 * k + 1]));
#else
#pragma unroll
    for (int k = 0; k < 8; ++k)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(d[k % 2 * 2]), "+d"(d[k % 2 * 2 + 1])
            : "d"(a[k]), "d"(b[k / 2]));
#endif
}
