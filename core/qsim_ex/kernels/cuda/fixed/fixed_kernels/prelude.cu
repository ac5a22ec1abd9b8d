// What all fixed kernels share; the lines before it define `real` and `amp`.
typedef unsigned long long u64;

// The bits of an index that are named one by one, least significant first.
struct Bits { int count; unsigned char at[44]; };

// A number's bits put on the set bits of a mask, lowest first.
__device__ __forceinline__ u64 deposit(u64 value, u64 mask)
{
    u64 found = 0;
    while (mask) {
        const u64 lowest = mask & (~mask + 1);
        if (value & 1) found |= lowest;
        value >>= 1;
        mask ^= lowest;
    }
    return found;
}

// A number's bits put on named bits.
__device__ __forceinline__ u64 placed(u64 value, const Bits& bits)
{
    u64 found = 0;
    for (int k = 0; k < bits.count; ++k) found |= (value >> k & 1) << bits.at[k];
    return found;
}

// The number that named bits of an index make.
__device__ __forceinline__ u64 extracted(u64 index, const Bits& bits)
{
    u64 found = 0;
    for (int k = 0; k < bits.count; ++k) found |= (index >> bits.at[k] & 1) << k;
    return found;
}

// A number with zeros inserted at the set bits of a mask.
__device__ __forceinline__ u64 inserted(u64 value, u64 mask)
{
    while (mask) {
        const u64 lowest = mask & (~mask + 1);
        value = (value & ~(lowest - 1)) << 1 | (value & (lowest - 1));
        mask ^= lowest;
    }
    return value;
}

__device__ __forceinline__ double square(const amp a) { return (double)a.x * a.x + (double)a.y * a.y; }
