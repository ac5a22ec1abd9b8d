// Amplitudes as sums of numbers of half the length, for the products of the engine's tensor_kernels/single.cu.
// The text stands behind these definitions: real, amp, u64; F16 or BF16; TERMS (short numbers that make one real number).

#define STEPS 1
#define SIGNS 0x80008000u

struct Part { unsigned v[TERMS][2]; };  // four real numbers in pairs

__device__ __forceinline__ void split(Part& part, float x0, float x1, float x2, float x3)
{
    float x[4] = {x0, x1, x2, x3};
#pragma unroll
    for (int term = 0; term < TERMS; ++term)
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            float low, high;
            part.v[term][k] = packed(x[2 * k], x[2 * k + 1]);
            unpacked(part.v[term][k], low, high);
            x[2 * k] -= low;
            x[2 * k + 1] -= high;
        }
}

// --- A tile's scale: numbers of half precision have little range ---

__device__ __forceinline__ unsigned largest(unsigned most, const amp (&a)[4])
{
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        most = max(most, bits_of(a[k].x) & 0x7fffffffu);
        most = max(most, bits_of(a[k].y) & 0x7fffffffu);
    }
    return most;
}

// The largest part becomes 2^8 to 2^9. Unitary matrices on a tile's 12 bits make it at most 64 √2 times as large, which
// half precision still holds.
__device__ __forceinline__ void scales(unsigned most, float& up, float& down)
{
    const unsigned exponent = most >> 23 < 12 ? 251 : 262 - (most >> 23);
    up = float_of(exponent << 23);
    down = float_of(254 - exponent << 23);
}

__device__ __forceinline__ void scale(amp (&a)[4], float by)
{
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        a[k].x *= by;
        a[k].y *= by;
    }
}
