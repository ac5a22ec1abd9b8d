// A complex matrix on sixteen amplitudes by the tensor cores.
// A lane holds four amplitudes of a column (a group of 16) and gets four of the result: rows r and r + 8 of two columns.
// Three real products make a complex one: with (A + iB)(x + iy), A(x + y) − (A + B)y and A(x + y) + (B − A)x.
struct Matrix { double v[3][8]; };  // A, B − A, −(A + B)

__device__ __forceinline__ void load(Matrix& m, const double* table, unsigned lane)
{
    const double2* const at = (const double2*)table + lane;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const double2 real = at[32 * k], imag = at[32 * (k + 4)];
        m.v[0][2 * k] = real.x;
        m.v[0][2 * k + 1] = real.y;
        m.v[1][2 * k] = imag.x - real.x;
        m.v[1][2 * k + 1] = imag.y - real.y;
        m.v[2][2 * k] = -real.x - imag.x;
        m.v[2][2 * k + 1] = -real.y - imag.y;
    }
}

struct Scale {};  // for numbers of half precision, see single.cu

template <int COUNT>
__device__ __forceinline__ Scale scale_of(const Matrix&, const amp (&)[COUNT])
{
    return {};
}

__device__ __forceinline__ void multiply(const Matrix& m, const Scale&, const amp* a, amp (&out)[4])
{
    const double x[4] = {a[0].x, a[1].x, a[2].x, a[3].x}, y[4] = {a[0].y, a[1].y, a[2].y, a[3].y};
    const double sum[4] = {x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3]};
    double re[4] = {0, 0, 0, 0};
    mma(re, m.v[0], sum);
    double im[4] = {re[0], re[1], re[2], re[3]};
    mma(re, m.v[2], y);
    mma(im, m.v[1], x);
#pragma unroll
    for (int k = 0; k < 4; ++k) out[k] = {re[k], im[k]};
}
