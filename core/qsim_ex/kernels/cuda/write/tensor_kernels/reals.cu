// Real numbers and their bits.
__device__ __forceinline__ unsigned bits_of(float x)
{
    union { float x; unsigned u; } both;
    both.x = x;
    return both.u;
}

__device__ __forceinline__ float float_of(unsigned u)
{
    union { float x; unsigned u; } both;
    both.u = u;
    return both.x;
}
