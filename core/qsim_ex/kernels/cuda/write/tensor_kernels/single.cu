// A complex matrix on sixteen amplitudes by the tensor cores. Every real number is a sum of two of half precision, 22 bits:
// x = high + low, and high · high + high · low + low · high are added up in single precision.
// A lane holds four amplitudes of a column (a group of 16) and gets four of the result: rows r and r + 8 of two columns.
//
// Half precision has little range. So a warp scales by powers of two: the matrix, and all amplitudes that it reads together.
// The sum of a lane's numbers becomes at most 2^15, which holds each; what is below 2^-34 of the largest one vanishes.
struct Matrix { unsigned v[2][2][4]; float down; };  // terms, of each real part and imaginary part
struct Scale { float up, down; };

__device__ __forceinline__ float size_of(float x) { return float_of(bits_of(x) & 0x7fffffffu); }

__device__ __forceinline__ Scale scaled(float sum)
{
    const unsigned exponent = most_of_warp(bits_of(sum)) >> 23, e = exponent < 24 ? 24 : exponent;
    return {float_of(268 - e << 23), float_of(e - 14 << 23)};
}

__device__ __forceinline__ void split(unsigned (&v)[2], float x, float y)
{
    float a, b;
    v[0] = packed(x, y);
    unpacked(v[0], a, b);
    v[1] = packed(x - a, y - b);
}

__device__ __forceinline__ void load(Matrix& m, const float* table, unsigned lane)
{
    const float4* const at = (const float4*)table + lane;
    const float4 f[4] = {at[0], at[32], at[64], at[96]};
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) sum += size_of(f[k].x) + size_of(f[k].y) + size_of(f[k].z) + size_of(f[k].w);
    const Scale s = scaled(sum);
    m.down = s.down;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        unsigned upper[2], lower[2];  // rows r and r + 8
        split(upper, f[k].x * s.up, f[k].z * s.up);
        split(lower, f[k].y * s.up, f[k].w * s.up);
#pragma unroll
        for (int term = 0; term < 2; ++term) {
            m.v[term][k / 2][k % 2 * 2] = upper[term];
            m.v[term][k / 2][k % 2 * 2 + 1] = lower[term];
        }
    }
}

template <int COUNT>
__device__ __forceinline__ Scale scale_of(const Matrix& m, const amp (&a)[COUNT])
{
    float sum[4] = {0, 0, 0, 0};
#pragma unroll
    for (int k = 0; k < COUNT; ++k) sum[k % 4] += size_of(a[k].x) + size_of(a[k].y);
    Scale s = scaled(sum[0] + sum[1] + (sum[2] + sum[3]));
    s.down *= m.down;
    return s;
}

__device__ __forceinline__ void multiply(const Matrix& m, const Scale& s, const amp* a, amp (&out)[4])
{
    unsigned x[2][2], y[2][2];  // of two numbers each both terms
    float re[4] = {0, 0, 0, 0}, im[4] = {0, 0, 0, 0};
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        split(x[k], a[2 * k].x * s.up, a[2 * k + 1].x * s.up);
        split(y[k], a[2 * k].y * s.up, a[2 * k + 1].y * s.up);
    }
#pragma unroll
    for (int order = 1; order >= 0; --order)  // small products first
#pragma unroll
        for (int term = 0; term <= order; ++term) {
            const int other = order - term;
            mma(re, m.v[term][0], x[0][other], x[1][other]);
            mma(im, m.v[term][0], y[0][other], y[1][other]);
            mma(re, m.v[term][1], y[0][other] ^ 0x80008000u, y[1][other] ^ 0x80008000u);
            mma(im, m.v[term][1], x[0][other], x[1][other]);
        }
#pragma unroll
    for (int k = 0; k < 4; ++k) out[k] = {re[k] * s.down, im[k] * s.down};
}
