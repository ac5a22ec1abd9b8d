// A complex matrix on sixteen amplitudes by the tensor cores, its numbers and theirs being sums of TERMS short ones.
// A lane holds four amplitudes of a column (a group of 16) and gets four of the result: rows r and r + 8 of two columns.
struct Matrix { unsigned v[TERMS][2][STEPS][4]; };  // real part and imaginary part

__device__ __forceinline__ void load(Matrix& m, const float* table, unsigned lane)
{
    const float4* const at = (const float4*)table + lane;
    const int each = sizeof(Part) / (4 * TERMS);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float4 four = at[32 * k];
        Part part;
        split(part, four.x, four.y, four.z, four.w);
#pragma unroll
        for (int term = 0; term < TERMS; ++term)
#pragma unroll
            for (int j = 0; j < each; ++j) (&m.v[term][0][0][0])[each * k + j] = part.v[term][j];
    }
}

__device__ __forceinline__ void multiply(const Matrix& m, const amp (&a)[4], amp (&out)[4])
{
    Part x, y;
    float re[4] = {0, 0, 0, 0}, im[4] = {0, 0, 0, 0};
    split(x, a[0].x, a[1].x, a[2].x, a[3].x);
    split(y, a[0].y, a[1].y, a[2].y, a[3].y);
#pragma unroll
    for (int order = TERMS - 1; order >= 0; --order)  // small products first
#pragma unroll
        for (int term = 0; term <= order; ++term)
#pragma unroll
            for (int s = 0; s < STEPS; ++s) {
                const unsigned* const u = x.v[order - term] + 2 * s;
                const unsigned* const w = y.v[order - term] + 2 * s;
                mma(re, m.v[term][0][s], u[0], u[1]);
                mma(im, m.v[term][0][s], w[0], w[1]);
                mma(re, m.v[term][1][s], w[0] ^ SIGNS, w[1] ^ SIGNS);
                mma(im, m.v[term][1][s], u[0], u[1]);
            }
#pragma unroll
    for (int k = 0; k < 4; ++k) out[k] = {re[k], im[k]};
}
