// A plan's coefficient program for every row of a batch, see steps.Coefficients.
//
// Number k of a row is given [rows, width] for k < known, and made [rows, others] behind that. A row's numbers are worked
// out by the same operations in the same order as on the host.

__device__ __forceinline__ double2 number_of(
    const double2* given, const double2* made, const u64 width, const u64 others, const unsigned known, const u64 row,
    const unsigned k)
{
    return k < known ? given[row * width + k] : made[row * others + (k - known)];
}

// Entries of products of matrices, each a sum of products of two numbers: pairs [2, terms, entries].
extern "C" __global__ void __launch_bounds__(256) products(
    const double2* given, double2* made, const u64 width, const u64 others, const unsigned known, const unsigned* pairs,
    const u64 terms, const u64 entries, const u64 to, const u64 size)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += (u64)gridDim.x * blockDim.x) {
        const u64 row = i / entries, e = i % entries;
        double x = 0, y = 0;
        for (u64 term = 0; term < terms; ++term) {
            const unsigned* at = pairs + term * entries + e;
            const double2 l = number_of(given, made, width, others, known, row, at[0]);
            const double2 r = number_of(given, made, width, others, known, row, at[terms * entries]);
            x += l.x * r.x - l.y * r.y;
            y += l.x * r.y + l.y * r.x;
        }
        made[row * others + to + e] = {x, y};
    }
}

__device__ __forceinline__ double2 times_conjugate(const double2 a, const double2 b)
{
    return {a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y};
}

// The phase of a number, that of 0 being 1.
__device__ __forceinline__ double2 phase_of(const double2 a, const double size)
{
    if (size < 1e-300) return {1, 0};
    return {a.x / size, a.y / size};
}

// Euler angles of unitary 2 x 2 matrices, see steps.Euler: places [4, count]. imaginary: 1 or 0.
extern "C" __global__ void __launch_bounds__(256) eulers(
    const double2* given, double2* made, const u64 width, const u64 others, const unsigned known,
    const unsigned* places, const u64 imaginary, const u64 count, const u64 to, const u64 size)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += (u64)gridDim.x * blockDim.x) {
        const u64 row = i / count, e = i % count;
        const double2 a = number_of(given, made, width, others, known, row, places[e]);
        const double2 b = number_of(given, made, width, others, known, row, places[count + e]);
        const double2 c = number_of(given, made, width, others, known, row, places[2 * count + e]);
        const double2 d = number_of(given, made, width, others, known, row, places[3 * count + e]);
        const double cosine = hypot(a.x, a.y), sine = hypot(c.x, c.y);
        const bool tangent = sine <= cosine;
        const double2 first = phase_of(a, cosine), second = phase_of(c, sine);
        const double2 third = phase_of(b, hypot(b.x, b.y)), fourth = phase_of(d, hypot(d.x, d.y));
        // The phase of a large entry is never made from those of small ones.
        double2* out = made + row * others + to + 7 * e;
        if (imaginary) {
            const double2 gamma = tangent ? first : double2{second.y, -second.x};
            out[0] = out[3] = {times_conjugate(a, gamma).x, 0};
            out[1] = out[2] = {0, times_conjugate(c, gamma).y};
            out[4] = {1, 0};
            out[5] = times_conjugate(tangent ? fourth : double2{third.y, -third.x}, gamma);
            out[6] = gamma;
            continue;
        }
        const double2 alpha = times_conjugate(second, first);
        out[0] = out[3] = {cosine, 0};
        out[1] = {-sine, 0};
        out[2] = {sine, 0};
        out[4] = alpha;
        out[5] = times_conjugate(tangent ? times_conjugate(fourth, alpha) : double2{-third.x, -third.y}, first);
        out[6] = first;
    }
}
