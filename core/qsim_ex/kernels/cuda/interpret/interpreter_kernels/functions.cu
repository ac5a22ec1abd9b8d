// One kernel that runs any sweep: the sweep is a program of 64-bit words, written by interpreter.py.
//
// The words before this text define `real`, `amp`, `u64`, TILE (index bits of a full tile), BANK (bits of a bank's
// number), and BOUNDS. A thread holds 16 amplitudes; register bit j of a thread is bit j of an amplitude's register.

enum { END, LOAD, EXCHANGE, DIAGONAL, MIX_1, MIX_2, MIX_3, MIX_4, RENAME };

// One operation of the program, decoded.
struct Operation {
    unsigned kind, reads, registers, choice;  // registers: which of the 16 it concerns (for a matrix: with mixed bits 0)
    u64 mask, value;                          // it acts where `i & mask == value`
    const amp* numbers;                       // its first entry
    u64 own;                                  // what each register bit contributes to the block's number, 16 bits each
    u64 extra;                                // renaming: 4 bits for each register's source; matrix: its register bits
    bool flat;                                // no register bit contributes
};

// Where this thread's amplitudes are.
struct Places {
    u64 here, step[4];       // index in memory with register bits 0; what each register bit adds
    unsigned slot, hop[4];   // slot in shared memory, likewise, by XOR
};

__device__ __forceinline__ unsigned byte_of(const u64 word, const unsigned k) { return (unsigned)(word >> 8 * k) & 0xff; }

// The slot of a position: higher groups of bits are XORed into the bank.
__device__ __forceinline__ unsigned swizzle(const unsigned position)
{
    unsigned slot = position;
#pragma unroll
    for (int shift = BANK; shift < TILE; shift += BANK) slot ^= position >> shift & ((1u << BANK) - 1);
    return slot;
}

// The bits of a register's number select from four values.
__device__ __forceinline__ u64 index_of(const Places& places, const int r)
{
    return places.here + (r & 1 ? places.step[0] : 0) + (r & 2 ? places.step[1] : 0) + (r & 4 ? places.step[2] : 0)
        + (r & 8 ? places.step[3] : 0);
}

__device__ __forceinline__ unsigned slot_of(const Places& places, const int r)
{
    return places.slot ^ (r & 1 ? places.hop[0] : 0) ^ (r & 2 ? places.hop[1] : 0) ^ (r & 4 ? places.hop[2] : 0)
        ^ (r & 8 ? places.hop[3] : 0);
}

// Register bit j's hop, for a j that is not known when this is compiled: an index would put the array into memory.
__device__ __forceinline__ unsigned hop_of(const Places& places, const unsigned j)
{
    return j == 0 ? places.hop[0] : j == 1 ? places.hop[1] : j == 2 ? places.hop[2] : places.hop[3];
}

__device__ __forceinline__ unsigned own_of(const u64 own, const int r)
{
    return ((r & 1 ? (unsigned)own : 0) ^ (r & 2 ? (unsigned)(own >> 16) : 0) ^ (r & 4 ? (unsigned)(own >> 32) : 0)
        ^ (r & 8 ? (unsigned)(own >> 48) : 0)) & 0xffff;
}

__device__ __forceinline__ amp times(const amp m, const amp a)
{
    amp c;
    c.x = m.x * a.x - m.y * a.y;
    c.y = m.x * a.y + m.y * a.x;
    return c;
}

__device__ __forceinline__ amp plus(const amp c, const amp m, const amp a)  // c + m a
{
    amp d;
    d.x = c.x + m.x * a.x - m.y * a.y;
    d.y = c.y + m.x * a.y + m.y * a.x;
    return d;
}

// Go to the places that a LOAD, an EXCHANGE or the END names. tile: the index bit of each position, in bytes.
__device__ __forceinline__ Places find(
    const unsigned bits, const u64* tile, const u64 threads, const u64 registers, const u64 outside)
{
    Places places;
    u64 here = outside;
    unsigned position = 0;
#pragma unroll 1
    for (unsigned k = 0; k + 4 < bits; ++k) {
        const unsigned at = byte_of(threads, k);
        const unsigned one = threadIdx.x >> k & 1;
        position |= one << at;
        here |= (u64)one << byte_of(tile[at / 8], at & 7);
    }
    places.here = here;
    places.slot = swizzle(position);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const unsigned at = byte_of(registers, j);
        places.step[j] = 1ull << byte_of(tile[at / 8], at & 7);
        places.hop[j] = swizzle(1u << at);
    }
    return places;
}

__device__ __forceinline__ void park(amp* tile, const Places& places, const amp (&a)[16])
{
#pragma unroll
    for (int r = 0; r < 16; ++r) tile[slot_of(places, r)] = a[r];
}

// The block of an item's table that a register meets.
__device__ __forceinline__ const amp* block_of(const Operation& op, const unsigned s, const int r, const int size)
{
    return op.numbers + (u64)size * (s ^ own_of(op.own, r));
}

// All factors are loaded before the first is used, so that a thread waits once and not sixteen times.
__device__ __forceinline__ void diagonal(amp (&a)[16], const Operation& op, const unsigned s)
{
    amp f[16];
#pragma unroll
    for (int r = 0; r < 16; ++r) f[r] = *block_of(op, s, r, 1);
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        const amp product = times(f[r], a[r]);
        const bool chosen = op.registers >> r & 1;
        a[r].x = chosen ? product.x : a[r].x;
        a[r].y = chosen ? product.y : a[r].y;
    }
}

// Register bits P and Q change places.
template <int P, int Q>
__device__ __forceinline__ void swap_bits(amp (&a)[16])
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (!(r >> P & 1) || r >> Q & 1) continue;
        const amp c = a[r];
        a[r] = a[r ^ (1 << P | 1 << Q)];
        a[r ^ (1 << P | 1 << Q)] = c;
    }
}

// Bring the mixed register bits to the lowest places, or back: one body for each size of matrix keeps this text short
// to compile. The program's words are written for amplitudes that have been brought.
__device__ __forceinline__ void bring(amp (&a)[16], const unsigned swaps)
{
    if (swaps & 1) swap_bits<0, 1>(a);
    if (swaps & 2) swap_bits<0, 2>(a);
    if (swaps & 4) swap_bits<0, 3>(a);
    if (swaps & 8) swap_bits<1, 2>(a);
    if (swaps & 16) swap_bits<1, 3>(a);
}

// A 2 × 2 matrix on register bit 0.
__device__ __forceinline__ void mix_1(amp (&a)[16], const Operation& op, const unsigned s)
{
    const amp* m = op.numbers + 4 * s;
    amp m0 = m[0], m1 = m[1], m2 = m[2], m3 = m[3];
#pragma unroll
    for (int r = 0; r < 16; r += 2) {
        if (!(op.registers >> r & 1)) continue;
        if (!op.flat) {
            m = block_of(op, s, r, 4);
            m0 = m[0], m1 = m[1], m2 = m[2], m3 = m[3];
        }
        const amp b0 = a[r], b1 = a[r + 1];
        a[r] = plus(times(m0, b0), m1, b1);
        a[r + 1] = plus(times(m2, b0), m3, b1);
    }
}

// A 4 × 4 matrix on register bits 0 and 1.
__device__ __forceinline__ void mix_2(amp (&a)[16], const Operation& op, const unsigned s)
{
#pragma unroll
    for (int r = 0; r < 16; r += 4) {
        if (!(op.registers >> r & 1)) continue;
        const amp* m = block_of(op, s, r, 16);
        const amp b0 = a[r], b1 = a[r + 1], b2 = a[r + 2], b3 = a[r + 3];
        a[r] = plus(plus(plus(times(m[0], b0), m[1], b1), m[2], b2), m[3], b3);
        a[r + 1] = plus(plus(plus(times(m[4], b0), m[5], b1), m[6], b2), m[7], b3);
        a[r + 2] = plus(plus(plus(times(m[8], b0), m[9], b1), m[10], b2), m[11], b3);
        a[r + 3] = plus(plus(plus(times(m[12], b0), m[13], b1), m[14], b2), m[15], b3);
    }
}

// A 16 × 16 matrix on all register bits, in their order: dense work, for which nothing but its numbers is looked up. Two
// of them are loaded at a time; the program sees to it that they begin where that is allowed. Results wait in the
// thread's own slots of shared memory, since registers are scarce.
__device__ __forceinline__ void mix_4(
    amp (&a)[16], amp* tile, const Places& places, const Operation& op, const unsigned s)
{
    struct __align__(2 * sizeof(amp)) Pair { amp low, high; };
    const Pair* m = (const Pair*)(op.numbers + 256 * s);
#pragma unroll 1
    for (unsigned r = 0; r < 16; ++r, m += 8) {
        amp sum = {0, 0};
#pragma unroll
        for (int c = 0; c < 8; ++c) {
            const Pair pair = m[c];
            sum = plus(plus(sum, pair.low, a[2 * c]), pair.high, a[2 * c + 1]);
        }
        unsigned slot = places.slot;
#pragma unroll
        for (int j = 0; j < 4; ++j) slot ^= r >> j & 1 ? places.hop[j] : 0;
        tile[slot] = sum;
    }
#pragma unroll
    for (int r = 0; r < 16; ++r) a[r] = tile[slot_of(places, r)];
}

// Matrices on three register bits: the inputs wait in the thread's own slots of shared memory. A loop over registers,
// whose results are put where they belong by comparing numbers, is a quarter of the text that sixteen copies would be.
__device__ __forceinline__ void mix_3(
    amp (&a)[16], amp* tile, const Places& places, const Operation& op, const unsigned s)
{
    const unsigned bits = 3, size = 1u << bits;
    u64 hops = 0;
    unsigned mixed = 0;
#pragma unroll 1
    for (unsigned k = 0; k < bits; ++k) {
        const unsigned j = byte_of(op.extra, k);
        hops |= (u64)hop_of(places, j) << 16 * k;
        mixed |= 1u << j;
    }
    park(tile, places, a);
#pragma unroll 1
    for (unsigned r = 0; r < 16; ++r) {
        const unsigned group = r & ~mixed;
        if (!(op.registers >> group & 1)) continue;
        unsigned row = 0, first = places.slot;
#pragma unroll 1
        for (unsigned k = 0; k < bits; ++k) row |= (r >> byte_of(op.extra, k) & 1) << k;
#pragma unroll 1
        for (unsigned j = 0; j < 4; ++j) first ^= group >> j & 1 ? hop_of(places, j) : 0;
        const amp* m = op.numbers + (u64)size * (size * (s ^ own_of(op.own, r)) + row);
        amp sum = {0, 0};
#pragma unroll 1
        for (unsigned c = 0; c < size; ++c) sum = plus(sum, m[c], tile[first ^ own_of(hops, c)]);
#pragma unroll
        for (int q = 0; q < 16; ++q) {
            if (q == r) a[q] = sum;
        }
    }
}

__device__ __forceinline__ void rename(amp (&a)[16], amp* tile, const Places& places, const u64 sources)
{
    park(tile, places, a);
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        const unsigned from = (unsigned)(sources >> 4 * r) & 15;
        unsigned slot = places.slot;
#pragma unroll
        for (int j = 0; j < 4; ++j) slot ^= from >> j & 1 ? places.hop[j] : 0;
        a[r] = tile[slot];
    }
}

