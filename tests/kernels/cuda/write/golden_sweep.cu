// A sweep over tiles of index bits 0 1 2 5, complex64.
typedef float real;
typedef float2 amp;
typedef unsigned long long u64;
struct Numbers { real v[4]; };

__device__ __forceinline__ void times(amp& a, const real x, const real y)  // a ← (x + i y) a
{
    const amp b = a;
    a.x = x * b.x - y * b.y;
    a.y = x * b.y + y * b.x;
}

__device__ __forceinline__ void negate(amp& a)  // a ← −a
{
    a.x = -a.x;
    a.y = -a.y;
}

__device__ __forceinline__ void swap(amp& a, amp& b)
{
    const amp c = a;
    a = b;
    b = c;
}

// a ← M a with M = [rr, rr]
__device__ __forceinline__ void mix_rrrr(amp& a0, amp& a1, const real* m)
{
    const amp b0 = a0, b1 = a1;
    a0.x = m[0] * b0.x + m[1] * b1.x;
    a0.y = m[0] * b0.y + m[1] * b1.y;
    a1.x = m[2] * b0.x + m[3] * b1.x;
    a1.y = m[2] * b0.y + m[3] * b1.y;
}

extern "C" __global__ void __launch_bounds__(1) sweep(
    amp* __restrict__ state,         // all amplitudes, in place
    const real* __restrict__ table,  // numbers that differ between amplitudes
    const u64 high,                  // the index bits outside this buffer
    const __grid_constant__ Numbers n)
{
    unsigned t = threadIdx.x;
    const u64 b = blockIdx.x;
    const u64 outside = (u64)(b & 0x3) << 3 | (u64)(b >> 2) << 6;
    const real* const v = n.v;
    amp a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15;

    {   // register block 0: bits 1 2 5
        const u64 here = outside;
        const u64 around = high | outside;
        a0 = state[here + 0x0];
        a1 = state[here + 0x1];
        a2 = state[here + 0x2];
        a3 = state[here + 0x3];
        a4 = state[here + 0x4];
        a5 = state[here + 0x5];
        a6 = state[here + 0x6];
        a7 = state[here + 0x7];
        a8 = state[here + 0x20];
        a9 = state[here + 0x21];
        a10 = state[here + 0x22];
        a11 = state[here + 0x23];
        a12 = state[here + 0x24];
        a13 = state[here + 0x25];
        a14 = state[here + 0x26];
        a15 = state[here + 0x27];
        // ry 5
        mix_rrrr(a0, a8, v);
        mix_rrrr(a1, a9, v);
        mix_rrrr(a2, a10, v);
        mix_rrrr(a3, a11, v);
        mix_rrrr(a4, a12, v);
        mix_rrrr(a5, a13, v);
        mix_rrrr(a6, a14, v);
        mix_rrrr(a7, a15, v);
        // ccx 1 7 2
        if (((unsigned)around & 0x80) == 0x80) {
            swap(a2, a6);
            swap(a3, a7);
            swap(a10, a14);
            swap(a11, a15);
        }
        // cx 1 2
        // rzz 0 5, rz 6
        {
            const unsigned s = ((unsigned)(around >> 6) & 0x1) << 1;
            const amp* const e0 = (const amp*)(table + 0) + (s);
            const amp f0 = __ldg(e0 + 0);
            const amp f1 = __ldg(e0 + 1);
            times(a0, f0.x, f0.y);
            times(a1, f1.x, f1.y);
            times(a6, f0.x, f0.y);
            times(a7, f1.x, f1.y);
            times(a4, f0.x, f0.y);
            times(a5, f1.x, f1.y);
            times(a2, f0.x, f0.y);
            times(a3, f1.x, f1.y);
            times(a8, f1.x, f1.y);
            times(a9, f0.x, f0.y);
            times(a14, f1.x, f1.y);
            times(a15, f0.x, f0.y);
            times(a12, f1.x, f1.y);
            times(a13, f0.x, f0.y);
            times(a10, f1.x, f1.y);
            times(a11, f0.x, f0.y);
        }
        // z 0
        negate(a1);
        negate(a7);
        negate(a5);
        negate(a3);
        negate(a9);
        negate(a15);
        negate(a13);
        negate(a11);
        state[here + 0x0] = a0;
        state[here + 0x1] = a1;
        state[here + 0x2] = a6;
        state[here + 0x3] = a7;
        state[here + 0x4] = a4;
        state[here + 0x5] = a5;
        state[here + 0x6] = a2;
        state[here + 0x7] = a3;
        state[here + 0x20] = a8;
        state[here + 0x21] = a9;
        state[here + 0x22] = a14;
        state[here + 0x23] = a15;
        state[here + 0x24] = a12;
        state[here + 0x25] = a13;
        state[here + 0x26] = a10;
        state[here + 0x27] = a11;
    }
}
