// A complex matrix on sixteen amplitudes by the tensor cores.
// A lane holds four amplitudes of a column (a group of 16) and gets four of the result: rows r and r + 8 of two columns.
struct Matrix { double v[2][8]; };  // real part and imaginary part

__device__ __forceinline__ void load(Matrix& m, const double* table, unsigned lane)
{
    const double2* const at = (const double2*)table + lane;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const double2 two = at[32 * k];
        m.v[k / 4][2 * (k % 4)] = two.x;
        m.v[k / 4][2 * (k % 4) + 1] = two.y;
    }
}

__device__ __forceinline__ void multiply(const Matrix& m, const amp (&a)[4], amp (&out)[4])
{
    const double x[4] = {a[0].x, a[1].x, a[2].x, a[3].x}, y[4] = {a[0].y, a[1].y, a[2].y, a[3].y};
    const double minus[4] = {-y[0], -y[1], -y[2], -y[3]};
    double re[4] = {0, 0, 0, 0}, im[4] = {0, 0, 0, 0};
    mma(re, m.v[0], x);
    mma(im, m.v[0], y);
    mma(re, m.v[1], minus);
    mma(im, m.v[1], x);
#pragma unroll
    for (int k = 0; k < 4; ++k) out[k] = {re[k], im[k]};
}
