// The instructions of the tensor cores by their documented layouts, for g++: threads are fibers, and meet at barriers.
// A thread's numbers are laid out for all to see; then each computes its own part of the product.
struct uint4 { unsigned x, y, z, w; };
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }

#ifndef DOUBLE
static inline float real_of(unsigned u) { float x; __builtin_memcpy(&x, &u, 4); return x; }
static inline unsigned code_of(float x) { unsigned u; __builtin_memcpy(&u, &x, 4); return u; }

static unsigned block_max(unsigned value)
{
    static unsigned most;
    if (threadIdx.x == 0) most = 0;
    __syncthreads();
    most = max(most, value);
    __syncthreads();
    return most;
}

static unsigned most_of_warp(unsigned value)
{
    static unsigned values[32][32];
    const unsigned warp = threadIdx.x / 32;
    values[warp][threadIdx.x % 32] = value;
    __syncthreads();
    unsigned most = 0;
    for (unsigned lane = 0; lane < 32; ++lane) most = max(most, values[warp][lane]);
    __syncthreads();
    return most;
}

#ifdef F16
static double short_of(unsigned u)  // binary16
{
    const int exponent = u >> 10 & 31, fraction = u & 1023;
    const double size = exponent ? __builtin_ldexp(1024 + fraction, exponent - 25) : __builtin_ldexp(fraction, -24);
    return exponent == 31 ? __builtin_nan("") : u >> 15 ? -size : size;
}

static unsigned shortened(float x)
{
    if (x == 0) return 0;
    const double size = __builtin_fabs(x);
    int exponent;
    __builtin_frexp(size, &exponent);
    const int step = (exponent < -13 ? -13 : exponent) - 11;
    const double rounded = __builtin_nearbyint(__builtin_ldexp(size, -step));
    const unsigned body = exponent < -13 ? (unsigned)rounded : ((unsigned)(exponent + 14) << 10) + (unsigned)rounded - 1024;
    return (x < 0) << 15 | body;
}
#else
static double short_of(unsigned u) { return real_of(u << 16); }
static unsigned shortened(float x) { return (code_of(x) + 0x7fff + (code_of(x) >> 16 & 1)) >> 16; }
#endif

static unsigned packed(float low, float high) { return shortened(low) | shortened(high) << 16; }
static void unpacked(unsigned both, float& low, float& high) { low = short_of(both & 0xffff); high = short_of(both >> 16); }

static void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    static double A[32][16][16], B[32][16][8];  // of each warp
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    const unsigned b[2] = {b0, b1};
#ifdef TF32
    const int depth = 8;
    for (int i = 0; i < 4; ++i) A[warp][g + 8 * (i & 1)][q + 4 * (i >> 1)] = real_of(a[i] & 0xffffe000);
    for (int i = 0; i < 2; ++i) B[warp][q + 4 * i][g] = real_of(b[i] & 0xffffe000);
#else
    const int depth = 16;
    for (int i = 0; i < 8; ++i)
        A[warp][g + (i % 4 < 2 ? 0 : 8)][2 * q + (i & 1) + (i < 4 ? 0 : 8)] = short_of(a[i / 2] >> 16 * (i & 1) & 0xffff);
    for (int i = 0; i < 4; ++i) B[warp][2 * q + (i & 1) + (i < 2 ? 0 : 8)][g] = short_of(b[i / 2] >> 16 * (i & 1) & 0xffff);
#endif
    __syncthreads();
    for (int i = 0; i < 4; ++i) {
        double sum = d[i];
        for (int k = 0; k < depth; ++k) sum += A[warp][g + (i < 2 ? 0 : 8)][k] * B[warp][k][2 * q + (i & 1)];
        d[i] = sum;
    }
    __syncthreads();
}
#else
static void mma(double (&d)[4], const double (&a)[8], const double (&b)[4])
{
    static double A[32][16][16], B[32][16][8];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    for (int i = 0; i < 8; ++i) A[warp][g + (i % 2 ? 8 : 0)][i / 2 * 4 + q] = a[i];
    for (int i = 0; i < 4; ++i) B[warp][4 * i + q][g] = b[i];
    __syncthreads();
    for (int i = 0; i < 4; ++i) {
        double sum = d[i];
        for (int k = 0; k < 16; ++k) sum += A[warp][g + (i < 2 ? 0 : 8)][k] * B[warp][k][2 * q + (i & 1)];
        d[i] = sum;
    }
    __syncthreads();
}
#endif
