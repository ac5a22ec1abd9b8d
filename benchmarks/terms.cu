// Real numbers as sums of two that the tensor cores take: x = high + low, each with 11 significant bits.
#ifndef TERMS
#define TERMS 2
#endif
#define STEPS 2
#define SIGNS 0x80000000u

struct Part { unsigned v[TERMS][4]; };  // four real numbers

__device__ __forceinline__ void split(Part& part, float x0, float x1, float x2, float x3)
{
    float x[4] = {x0, x1, x2, x3};
#pragma unroll
    for (int term = 0; term < TERMS; ++term)
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            // To nearest; the unit itself drops the 13 bits, so that the last term need not be rounded.
            const unsigned high = term + 1 < TERMS ? bits_of(x[k]) + 0x1000u & 0xffffe000u : bits_of(x[k]);
            part.v[term][k] = high;
            x[k] -= float_of(high);
        }
}
