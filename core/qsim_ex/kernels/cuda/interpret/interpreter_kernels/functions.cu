// One kernel that runs any sweep: the sweep is a program of 32-bit words, written by core/native/planner/encode/programs.cpp.
//
// Words and numbers are arguments of the kernel, so all threads read them through the constant cache, at places that are
// the same for all of them: decoding is work of the uniform registers, and a number is an operand of a multiply-add, as
// in a kernel of its own. Nothing that depends on a thread may therefore decide which word is read next.
//
// The words before this text define `real`, `amp`, `quad` (16 bytes of reals), `u64`, TILE (index bits of a full tile) and BOUNDS.
// A thread holds 16 amplitudes; register bit j of a thread is bit j of an amplitude's register.

enum {
    END, EXCHANGE, FACTORS, TABLE,
    PHASE = 4,       // + 0: all registers; + 1 + j: bit j; + 5 + pair: both bits; + 11: registers of a mask
    FLIP = 16,       // + j
    MIX_1 = 20,      // + j: complex entries
    REAL_1 = 24,     // + j: real entries
    CROSSED_1 = 28,  // + j: a real diagonal, and imaginary entries beside it
    MIX_2 = 32,      // + pair
    CROSSED_2 = 38,  // + pair: only the diagonal and the antidiagonal
    BLOCK = 44,      // a matrix on all four register bits
    ANY_1 = 45, ANY_2, ANY_3, ANY_4, RENAME,  // under any condition, with any reads
    MIX_3 = 50       // + j: a matrix on all register bits but j
};

// The head of a program, in words.
enum {
    RUNS, FRESH, LOADED, LIVE,   // bit runs of a tile's number; threads at fresh bits; registers to be loaded; existing ones
    LOAD = 4, STORE = 28,        // where amplitudes are in memory, by XOR: of 8 thread bits and of 4 register bits, 64 bits each
    SLOTS = 52,                  // where they are in shared memory, in bytes: of 8 thread bits and of 4 register bits
    TABLES = 64,                 // where tables begin if they lie behind the shared numbers, in entries
    HEAD = 65
};

// A tile that is a subspace has bits outside of it that flip others within: the words of each are the bit, and these as a mask.
// Those of loading are behind the runs, as many as the higher bits of RUNS say; those of storing behind END, with their number.
enum { ADDED = 3 };

// The words of an operation; those up to WHICH are of conditional ones, all of them of TABLE and what follows BLOCK.
enum { AT = 1, OUTSIDE = 2, OUTSIDE_VALUE = 4, WHICH = 6, READS = 7, THREADS = 8, OWN = 12, CHOICE = 14, EXTRA = 15, REST = 17 };

__device__ __forceinline__ u64 wide(const unsigned* w, const int k) { return w[k] | (u64)w[k + 1] << 32; }
__device__ __forceinline__ u64 joined(const unsigned low, const unsigned high) { return low | (u64)high << 32; }

// What the bits of a tile's place add within the tile.
template <class Words>
__device__ __forceinline__ u64 added(const Words& words, const int at, const unsigned count, const u64 outside)
{
    u64 sum = 0;
#pragma unroll 1
    for (int word = at; word < at + ADDED * (int)count; word += ADDED) {
        const unsigned is = -(unsigned)(outside >> words.w[word] & 1);
        sum ^= joined(words.w[word + 1] & is, words.w[word + 2] & is);
    }
    return sum;
}

// All ones if bit k of t is 1.
__device__ __forceinline__ unsigned spread(const unsigned t, const unsigned k) { return (unsigned)((int)(t << (31 - k)) >> 31); }

__device__ __forceinline__ amp times(const amp m, const amp a)
{
    amp c;
    c.x = m.x * a.x - m.y * a.y;
    c.y = m.x * a.y + m.y * a.x;
    return c;
}

__device__ __forceinline__ void add(amp& c, const amp m, const amp a)  // c += m a
{
    c.x += m.x * a.x;
    c.y += m.x * a.y;
    c.x -= m.y * a.y;
    c.y += m.y * a.x;
}

__device__ __forceinline__ float2 entry(const float4* n, const int k)
{
    const float4 both = n[k / 2];
    float2 one;
    one.x = k & 1 ? both.z : both.x;
    one.y = k & 1 ? both.w : both.y;
    return one;
}

__device__ __forceinline__ double2 entry(const double2* n, const int k) { return n[k]; }

// An amplitude in shared memory.
__device__ __forceinline__ amp& near(amp* tile, const unsigned byte) { return *(amp*)((char*)tile + byte); }

// The slots of a thread's amplitudes: the first, and what each register bit adds, by XOR; in bytes.
struct Places { unsigned first, hop[4]; };

__device__ __forceinline__ unsigned slot_of(const Places& places, const int r)
{
    return places.first ^ (r & 1 ? places.hop[0] : 0) ^ (r & 2 ? places.hop[1] : 0) ^ (r & 4 ? places.hop[2] : 0)
        ^ (r & 8 ? places.hop[3] : 0);
}

template <class Words>
__device__ __forceinline__ void find(Places& places, const Words& words, const int at, const unsigned t)
{
    unsigned first = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) first ^= spread(t, k) & words.w[at + k];
    places.first = first;
#pragma unroll
    for (int j = 0; j < 4; ++j) places.hop[j] = words.w[at + 8 + j];
}

__device__ __forceinline__ void park(amp* tile, const Places& places, const amp (&a)[16])
{
#pragma unroll
    for (int r = 0; r < 16; ++r) near(tile, slot_of(places, r)) = a[r];
}

__device__ __forceinline__ void fetch(amp* tile, const Places& places, amp (&a)[16])
{
#pragma unroll
    for (int r = 0; r < 16; ++r) a[r] = near(tile, slot_of(places, r));
}

// A 2 × 2 matrix on register bit J; m: its entries, row by row.
template <int J, class M>
__device__ __forceinline__ void mix_1(amp (&a)[16], const M& m)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> J & 1) continue;
        const int q = r | 1 << J;
        const amp b0 = a[r], b1 = a[q];
        a[r] = times(m.get(0), b0);
        add(a[r], m.get(1), b1);
        a[q] = times(m.get(2), b0);
        add(a[q], m.get(3), b1);
    }
}

template <int J>
__device__ __forceinline__ void real_1(amp (&a)[16], const real m0, const real m1, const real m2, const real m3)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> J & 1) continue;
        const int q = r | 1 << J;
        const amp b0 = a[r], b1 = a[q];
        a[r].x = m0 * b0.x + m1 * b1.x;
        a[r].y = m0 * b0.y + m1 * b1.y;
        a[q].x = m2 * b0.x + m3 * b1.x;
        a[q].y = m2 * b0.y + m3 * b1.y;
    }
}

// The diagonal is m0 and m3, the entries beside it are i m1 and i m2.
template <int J>
__device__ __forceinline__ void crossed_1(amp (&a)[16], const real m0, const real m1, const real m2, const real m3)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> J & 1) continue;
        const int q = r | 1 << J;
        const amp b0 = a[r], b1 = a[q];
        a[r].x = m0 * b0.x - m1 * b1.y;
        a[r].y = m0 * b0.y + m1 * b1.x;
        a[q].x = m3 * b1.x - m2 * b0.y;
        a[q].y = m3 * b1.y + m2 * b0.x;
    }
}

// A 4 × 4 matrix on register bits I and J.
template <int I, int J, class M>
__device__ __forceinline__ void mix_2(amp (&a)[16], const M& m)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> I & 1 || r >> J & 1) continue;
        amp b[4];
#pragma unroll
        for (int x = 0; x < 4; ++x) b[x] = a[r | (x & 1) << I | (x >> 1) << J];
#pragma unroll
        for (int y = 0; y < 4; ++y) {
            amp sum = times(m.get(4 * y), b[0]);
#pragma unroll
            for (int x = 1; x < 4; ++x) add(sum, m.get(4 * y + x), b[x]);
            a[r | (y & 1) << I | (y >> 1) << J] = sum;
        }
    }
}

// The same where only the diagonal and the antidiagonal are not 0: in each row the entry on the left, then the other.
template <int I, int J, class M>
__device__ __forceinline__ void crossed_2(amp (&a)[16], const M& m)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> I & 1 || r >> J & 1) continue;
#pragma unroll
        for (int x = 0; x < 2; ++x) {
            const int p = r | x << I, q = r | (1 - x) << I | 1 << J;
            const amp b0 = a[p], b1 = a[q];
            a[p] = times(m.get(2 * x), b0);
            add(a[p], m.get(2 * x + 1), b1);
            a[q] = times(m.get(6 - 2 * x), b0);
            add(a[q], m.get(7 - 2 * x), b1);
        }
    }
}

// Where a bit is 1 the amplitudes are multiplied by f. MASK: the register bits that have to be 1.
template <int MASK>
__device__ __forceinline__ void phase(amp (&a)[16], const amp f)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if ((r & MASK) == MASK) a[r] = times(f, a[r]);
    }
}

// Amplitudes of registers that differ in bit J are exchanged where the mask has a 1 for the lower register.
template <int J>
__device__ __forceinline__ void flip(amp (&a)[16], const unsigned which)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> J & 1) continue;
        const bool chosen = which >> r & 1;
        const amp b0 = a[r], b1 = a[r | 1 << J];
        a[r].x = chosen ? b1.x : b0.x;
        a[r].y = chosen ? b1.y : b0.y;
        a[r | 1 << J].x = chosen ? b0.x : b1.x;
        a[r | 1 << J].y = chosen ? b0.y : b1.y;
    }
}

// What an operation under any condition needs of its thread: the block of its table, and the registers at which it acts.
struct Reading { unsigned s, own[4], which; };

__device__ __forceinline__ unsigned block_of(const Reading& it, const int r)
{
    return it.s ^ (r & 1 ? it.own[0] : 0) ^ (r & 2 ? it.own[1] : 0) ^ (r & 4 ? it.own[2] : 0) ^ (r & 8 ? it.own[3] : 0);
}

// All factors are loaded before the first is used, so that a thread waits once and not sixteen times.
__device__ __forceinline__ void table(amp (&a)[16], const amp* numbers, const Reading& it)
{
    amp f[16];
    Reading in_bytes = it;  // a sum of an address and 32 bits is one instruction
    in_bytes.s *= sizeof(amp);
#pragma unroll
    for (int j = 0; j < 4; ++j) in_bytes.own[j] *= sizeof(amp);
#pragma unroll
    for (int r = 0; r < 16; ++r) f[r] = *(const amp*)((const char*)numbers + block_of(in_bytes, r));
    if (it.which == 0xffff) {
#pragma unroll
        for (int r = 0; r < 16; ++r) a[r] = times(f[r], a[r]);
    } else {
#pragma unroll
        for (int r = 0; r < 16; ++r) {
            const amp product = times(f[r], a[r]);
            const bool chosen = it.which >> r & 1;
            a[r].x = chosen ? product.x : a[r].x;
            a[r].y = chosen ? product.y : a[r].y;
        }
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

// Bring the mixed register bits to the lowest places, or back: one body for each size of matrix, since these are seldom.
// The words are written for amplitudes that have been brought.
__device__ __forceinline__ void bring(amp (&a)[16], const unsigned swaps)
{
    if (swaps & 1) swap_bits<0, 1>(a);
    if (swaps & 2) swap_bits<0, 2>(a);
    if (swaps & 4) swap_bits<0, 3>(a);
    if (swaps & 8) swap_bits<1, 2>(a);
    if (swaps & 16) swap_bits<1, 3>(a);
}

__device__ __forceinline__ void any_1(amp (&a)[16], const amp* numbers, const Reading& it)
{
    const bool flat = (it.own[0] | it.own[1] | it.own[2] | it.own[3]) == 0;
    const amp* m = numbers + 4 * it.s;
    amp m0 = m[0], m1 = m[1], m2 = m[2], m3 = m[3];
#pragma unroll
    for (int r = 0; r < 16; r += 2) {
        if (!(it.which >> r & 1)) continue;
        if (!flat) {
            m = numbers + 4 * block_of(it, r);
            m0 = m[0], m1 = m[1], m2 = m[2], m3 = m[3];
        }
        const amp b0 = a[r], b1 = a[r + 1];
        a[r] = times(m0, b0);
        add(a[r], m1, b1);
        a[r + 1] = times(m2, b0);
        add(a[r + 1], m3, b1);
    }
}

__device__ __forceinline__ void any_2(amp (&a)[16], const amp* numbers, const Reading& it)
{
#pragma unroll
    for (int r = 0; r < 16; r += 4) {
        if (!(it.which >> r & 1)) continue;
        const amp* m = numbers + 16 * block_of(it, r);
        const amp b[4] = {a[r], a[r + 1], a[r + 2], a[r + 3]};
#pragma unroll
        for (int y = 0; y < 4; ++y) {
            a[r + y] = times(m[4 * y], b[0]);
#pragma unroll
            for (int x = 1; x < 4; ++x) add(a[r + y], m[4 * y + x], b[x]);
        }
    }
}

// Register bit j's hop, for a j that is not known when this is compiled: an index would put the array into memory.
__device__ __forceinline__ unsigned hop_of(const Places& places, const unsigned j)
{
    return j == 0 ? places.hop[0] : j == 1 ? places.hop[1] : j == 2 ? places.hop[2] : places.hop[3];
}

// Matrices on three and four register bits: the inputs wait in the thread's own slots of shared memory. A loop over
// registers, whose results are put where they belong by comparing numbers, is a short text. bits: 4 bits for each.
__device__ __forceinline__ void any_more(
    amp (&a)[16], amp* tile, const Places& places, const amp* numbers, const Reading& it, const unsigned count, const u64 bits)
{
    const unsigned size = 1u << count;
    unsigned mixed = 0;
#pragma unroll 1
    for (unsigned k = 0; k < count; ++k) mixed |= 1u << (bits >> 4 * k & 15);
    park(tile, places, a);
#pragma unroll 1
    for (unsigned r = 0; r < 16; ++r) {
        const unsigned group = r & ~mixed;
        if (!(it.which >> group & 1)) continue;
        unsigned row = 0, first = places.first, s = it.s;
#pragma unroll 1
        for (unsigned k = 0; k < count; ++k) row |= (r >> (bits >> 4 * k & 15) & 1) << k;
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
            first ^= group >> j & 1 ? places.hop[j] : 0;
            s ^= group >> j & 1 ? it.own[j] : 0;
        }
        const amp* m = numbers + size * (size * s + row);
        amp sum = {0, 0};
#pragma unroll 1
        for (unsigned c = 0; c < size; ++c) {
            unsigned slot = first;
#pragma unroll 1
            for (unsigned k = 0; k < count; ++k) slot ^= c >> k & 1 ? hop_of(places, bits >> 4 * k & 15) : 0;
            add(sum, m[c], near(tile, slot));
        }
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
        unsigned slot = places.first;
#pragma unroll
        for (int j = 0; j < 4; ++j) slot ^= from >> j & 1 ? places.hop[j] : 0;
        a[r] = near(tile, slot);
    }
}

// Numbers one behind the other, loaded by 16 bytes.
struct Entries {
    const quad* n;
    __device__ __forceinline__ amp get(const int k) const { return entry(n, k); }
    __device__ __forceinline__ real part(const int k) const { return k & 1 ? entry(n, k / 2).y : entry(n, k / 2).x; }
};

// A 16 × 16 matrix on all register bits, in their order. Results wait in the thread's own slots of shared memory, since
// registers are scarce; four rows at a time, so that their sums do not wait for one another.
__device__ __forceinline__ void block(amp (&a)[16], amp* tile, const Places& places, const quad* n)
{
#pragma unroll 1
    for (unsigned r = 0; r < 16; r += 4, n += 64 * sizeof(amp) / sizeof(quad)) {
        const Entries m{n};
        unsigned slot = places.first ^ (r & 4 ? places.hop[2] : 0) ^ (r & 8 ? places.hop[3] : 0);
#pragma unroll
        for (int y = 0; y < 4; ++y) {
            amp sum = times(m.get(16 * y), a[0]);
#pragma unroll
            for (int c = 1; c < 16; ++c) add(sum, m.get(16 * y + c), a[c]);
            near(tile, slot ^ (y & 1 ? places.hop[0] : 0) ^ (y & 2 ? places.hop[1] : 0)) = sum;
        }
    }
    fetch(tile, places, a);
}

// Register bit j and the highest one change places.
__device__ __forceinline__ void lift(amp (&a)[16], const unsigned j)
{
    if (j == 0) swap_bits<0, 3>(a);
    if (j == 1) swap_bits<1, 3>(a);
    if (j == 2) swap_bits<2, 3>(a);
}

// An 8 × 8 matrix on the three lowest register bits, in the manner of `block`.
__device__ __forceinline__ void mix_3(amp (&a)[16], amp* tile, const Places& places, const quad* n)
{
#pragma unroll 1
    for (unsigned r = 0; r < 8; r += 4, n += 32 * sizeof(amp) / sizeof(quad)) {
        const Entries m{n};
        const unsigned slot = places.first ^ (r & 4 ? places.hop[2] : 0);
#pragma unroll
        for (int y = 0; y < 4; ++y) {
            const unsigned here = slot ^ (y & 1 ? places.hop[0] : 0) ^ (y & 2 ? places.hop[1] : 0);
            amp low = times(m.get(8 * y), a[0]), high = times(m.get(8 * y), a[8]);
#pragma unroll
            for (int c = 1; c < 8; ++c) {
                add(low, m.get(8 * y + c), a[c]);
                add(high, m.get(8 * y + c), a[8 + c]);
            }
            near(tile, here) = low;
            near(tile, here ^ places.hop[3]) = high;
        }
    }
    fetch(tile, places, a);
}

#define EACH(kind, call) \
    case kind: call(0); break; \
    case kind + 1: call(1); break; \
    case kind + 2: call(2); break; \
    case kind + 3: call(3); break;
#define PAIRS(kind, call) \
    case kind: call(0, 1); break; \
    case kind + 1: call(0, 2); break; \
    case kind + 2: call(0, 3); break; \
    case kind + 3: call(1, 2); break; \
    case kind + 4: call(1, 3); break; \
    case kind + 5: call(2, 3); break;

