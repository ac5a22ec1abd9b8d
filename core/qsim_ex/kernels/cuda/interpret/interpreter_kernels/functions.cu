// One kernel that runs any sweep: the sweep is a program of 32-bit words, written by core/native/planner/encode/programs/programs.cpp.
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
    MIX_3 = 50,      // + j: a matrix on all register bits but j
    PAIR_2 = 54,     // + pair: likewise, each entry real, or imaginary beside a real diagonal; one of two by a parity, or one
    // What follows the interpreter of derivatives lacks; it has the bodies above on one bit and those of phases in its place.
    // Bits tell the most frequent ones apart, by one instruction each: 128 a layer, 64 what is as frequent, of that 32 all but flips.
    FLIP_IF = 64,    // + j: of all registers, under a condition on threads and one bit outside the tile
    CXS = 96,        // flips under one register bit each, one behind the other
    PHASE_IF = 97,   // + 0: of all registers, + 1 + j: where bit j is 1, + 5: of a mask; likewise
    PHASE_2 = 103,   // + pair: where both bits are 1
    PARITY = 109,    // one of two factors, by a parity of bits
    PARITY_1 = 110,  // + j: one of two matrices, by a parity of bits
    CHOICE_1 = 114,  // + j: one of several matrices, by any reads; the words are those of ANY_1
    MIX_IF = 118,    // + j: complex entries, under a condition on threads, one bit outside the tile and registers of a mask
    LAYER = 128      // a matrix on each register bit, a phase of each, or both: see `LAYER_REAL`
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

// The words of operations from FLIP_IF on. All begin with the operation and, but for CXS and FLIP_IF, the place of their numbers
// in bytes. Conditions on threads stand in the first word as in other operations; its bit 24 is the value that a bit outside the
// tile has to have, of which two words are the mask. CXS has a word of 4 bits for each flip, 0 behind the last one.
enum { BIT = 2, MASK = 4, FLIP_BIT = 1, IF_WORDS = 5, FLIP_WORDS = 3 };
// A parity: of the bits of a mask of threads, and of one of bits outside the tile; the first word's bits from 16 on are the
// registers for which it is inverted. PAIR_2 has two words where there is none.
enum { OF_THREADS = 2, OF_OUTSIDE = 3, PARITY_WORDS = 5, PAIR_REAL = 256, PAIR_BY_PARITY = 512 };
// What a layer does to register bit j stands from bit 8 + 4 j on.
enum { LAYER_REAL = 1, LAYER_CROSSED = 2, LAYER_MIX = 3, LAYER_MATRIX = 3, LAYER_PHASE = 4, LAYER_ANY = 7 };
// The quads of four reals.
constexpr int QUADS = 4 * sizeof(real) / sizeof(quad);

__device__ __forceinline__ u64 wide(const unsigned* w, const int k) { return w[k] | (u64)w[k + 1] << 32; }
__device__ __forceinline__ u64 joined(const unsigned low, const unsigned high) { return low | (u64)high << 32; }

// The words from some place on.
struct Some { const unsigned* w; };

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

__device__ __forceinline__ amp either(const bool first, const amp a, const amp b)
{
    amp c;
    c.x = first ? a.x : b.x;
    c.y = first ? a.y : b.y;
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

// A complex number as a matrix on (x, y) is added up input by input, the sum in place of an input last: so sums need no
// registers of their own, which would have to be moved where all bodies expect amplitudes.

__device__ __forceinline__ void scale(amp& a, const amp f)
{
    const real sum = f.y * a.x;
    a.x = f.x * a.x;
    a.x -= f.y * a.y;
    a.y = sum + f.x * a.y;
}

// The input becomes what was added up so far, and m times itself.
__device__ __forceinline__ void add_last(amp& a, amp sum, const amp m)
{
    sum.x += m.x * a.x;
    sum.y += m.y * a.x;
    a.x = sum.x - m.y * a.y;
    a.y = sum.y + m.x * a.y;
}

// A 2 × 2 matrix on two amplitudes; m: its entries, row by row.
__device__ __forceinline__ void mix_pair(amp& a, amp& b, const amp m0, const amp m1, const amp m2, const amp m3)
{
    real ay = m0.y * a.x, bx = m2.x * a.x, by = m2.y * a.x;
    a.x = m0.x * a.x;
    a.x -= m0.y * a.y;
    bx -= m2.y * a.y;
    by += m2.x * a.y;
    a.y = ay + m0.x * a.y;
    a.x += m1.x * b.x;
    a.y += m1.y * b.x;
    by += m3.y * b.x;
    b.x = bx + m3.x * b.x;
    a.x -= m1.y * b.y;
    a.y += m1.x * b.y;
    b.x -= m3.y * b.y;
    b.y = by + m3.x * b.y;
}

__device__ __forceinline__ void real_pair(real& a, real& b, const real m0, const real m1, const real m2, const real m3)
{
    const real sum = m2 * a;
    a = fma(m1, b, m0 * a);  // in this order: the compiler would multiply b first, and keep a
    b = fma(m3, b, sum);
}

// A 2 × 2 matrix on register bit J; m: its entries, row by row.
template <int J, class M>
__device__ __forceinline__ void mix_1(amp (&a)[16], const M& m)
{
    const amp m0 = m.get(0), m1 = m.get(1), m2 = m.get(2), m3 = m.get(3);
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (!(r >> J & 1)) mix_pair(a[r], a[r | 1 << J], m0, m1, m2, m3);
    }
}

template <int J>
__device__ __forceinline__ void real_1(amp (&a)[16], const real m0, const real m1, const real m2, const real m3)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> J & 1) continue;
        real_pair(a[r].x, a[r | 1 << J].x, m0, m1, m2, m3);
        real_pair(a[r].y, a[r | 1 << J].y, m0, m1, m2, m3);
    }
}

// The diagonal is m0 and m3, the entries beside it are i m1 and i m2.
template <int J>
__device__ __forceinline__ void crossed_1(amp (&a)[16], const real m0, const real m1, const real m2, const real m3)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> J & 1) continue;
        real_pair(a[r].x, a[r | 1 << J].y, m0, -m1, m2, m3);
        real_pair(a[r].y, a[r | 1 << J].x, m0, m1, -m2, m3);
    }
}

// A 4 × 4 matrix on register bits I and J.
template <int I, int J, class M>
__device__ __forceinline__ void mix_2(amp (&a)[16], const M& m)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> I & 1 || r >> J & 1) continue;
        const int at[4] = {r, r | 1 << I, r | 1 << J, r | 1 << I | 1 << J};
        amp sum[4];
#pragma unroll
        for (int x = 0; x < 4; ++x) {
            const amp b = a[at[x]];
#pragma unroll
            for (int y = 0; y < 4; ++y) {
                if (y != x && x == 0) sum[y] = times(m.get(4 * y), b);
                else if (y != x) add(y < x ? a[at[y]] : sum[y], m.get(4 * y + x), b);
            }
            if (x == 0) scale(a[at[0]], m.get(0));
            else add_last(a[at[x]], sum[x], m.get(5 * x));
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
        mix_pair(a[r], a[r | 1 << I | 1 << J], m.get(0), m.get(1), m.get(6), m.get(7));
        mix_pair(a[r | 1 << I], a[r | 1 << J], m.get(2), m.get(3), m.get(4), m.get(5));
    }
}

// Where a bit is 1 the amplitudes are multiplied by f. MASK: the register bits that have to be 1.
template <int MASK>
__device__ __forceinline__ void phase(amp (&a)[16], const amp f)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if ((r & MASK) == MASK) scale(a[r], f);
    }
}

__device__ __forceinline__ void masked_phase(amp (&a)[16], const amp f, const unsigned which)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (which >> r & 1) scale(a[r], f);
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

// Exchanges two numbers. one: is 1, which the compiler must not know: multiplications take half of the time of moves.
__device__ __forceinline__ void swap(real& a, real& b, const real one)
{
    const real c = a * one;
    a = b * one;
    b = c * one;
}

// Amplitudes of registers that differ in bit J are exchanged where register bit C is 1; C = J: everywhere.
template <int C, int J>
__device__ __forceinline__ void cx(amp (&a)[16], const real one)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> J & 1 || !(C == J || r >> C & 1)) continue;
        swap(a[r].x, a[r | 1 << J].x, one);
        swap(a[r].y, a[r | 1 << J].y, one);
    }
}

// What an operation under any condition needs of its thread: the block of its table, and the registers at which it acts.
struct Reading { unsigned s, own[4], which; };

__device__ __forceinline__ unsigned block_of(const Reading& it, const int r)
{
    return it.s ^ (r & 1 ? it.own[0] : 0) ^ (r & 2 ? it.own[1] : 0) ^ (r & 4 ? it.own[2] : 0) ^ (r & 8 ? it.own[3] : 0);
}

// What an operation reads. Columns of two bits of a thread's number stand in one word.
template <class Words>
__device__ __forceinline__ Reading reading(const Words& words, const int at, unsigned t, const u64 whole)
{
    Reading it;
    unsigned both = 0;
    asm volatile("" : "+r"(t));  // or its bits would be kept in registers
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const unsigned bits = (spread(t, 2 * k) & 0xffff) | (spread(t, 2 * k + 1) & 0xffff0000);
        both ^= words.w[at + THREADS + k] & bits;
    }
    it.s = (both ^ both >> 16) & 0xffff;
#pragma unroll 1
    for (unsigned left = words.w[at + READS], rest = at + REST; left; --left, rest += 3) {
        const unsigned set = __popcll(whole & wide(words.w, rest)) & 1;
        it.s ^= set << words.w[rest + 2];
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) it.own[j] = words.w[at + OWN + j / 2] >> 16 * (j & 1) & 0xffff;
    it.which = words.w[at + WHICH];
    return it;
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
        for (int r = 0; r < 16; ++r) scale(a[r], f[r]);
    } else {
#pragma unroll
        for (int r = 0; r < 16; ++r) a[r] = either(it.which >> r & 1, times(f[r], a[r]), a[r]);
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

// What a layer does to register bit J. Returns where the numbers of the next bit are.
template <int J>
__device__ __forceinline__ const quad* layer(amp (&a)[16], const unsigned head, const quad* n)
{
    const unsigned does = head >> (8 + 4 * J);
    if (!(does & LAYER_ANY)) return n;
    if (does & LAYER_MATRIX) {
        const Entries m{n};
        if ((does & LAYER_MATRIX) == LAYER_REAL) {
            real_1<J>(a, m.part(0), m.part(1), m.part(2), m.part(3));
            n += QUADS;
        } else if ((does & LAYER_MATRIX) == LAYER_CROSSED) {
            crossed_1<J>(a, m.part(0), m.part(1), m.part(2), m.part(3));
            n += QUADS;
        } else {
            mix_1<J>(a, m);
            n += 2 * QUADS;
        }
    }
    if (does & LAYER_PHASE) {
        phase<1 << J>(a, Entries{n}.get(0));
        n += 1;
    }
    return n;
}

// One of several 2 × 2 matrices on register bit J, which reads choose.
template <int J>
__device__ __forceinline__ void choice_1(amp (&a)[16], const amp* numbers, const Reading& it)
{
    const bool flat = (it.own[0] | it.own[1] | it.own[2] | it.own[3]) == 0;
    const amp* m = numbers + 4 * it.s;
    amp m0 = m[0], m1 = m[1], m2 = m[2], m3 = m[3];
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> J & 1) continue;
        if (r && !flat) {
            m = numbers + 4 * block_of(it, r);
            m0 = m[0], m1 = m[1], m2 = m[2], m3 = m[3];
        }
        if (it.which >> r & 1) mix_pair(a[r], a[r | 1 << J], m0, m1, m2, m3);
    }
}

// A parity of bits of the thread and of bits outside the tile, as a condition.
template <class Words>
__device__ __forceinline__ bool parity_of(const Words& words, const int at, const unsigned t, const u64 whole)
{
    const unsigned low = (unsigned)whole & words.w[at + OF_OUTSIDE], high = (unsigned)(whole >> 32) & words.w[at + OF_OUTSIDE + 1];
    return __popc(t & words.w[at + OF_THREADS] ^ low ^ high) & 1;
}

// A 2 × 2 matrix on register bit J where the mask has a 1 for the lower register.
template <int J>
__device__ __forceinline__ void mix_where(
    amp (&a)[16], const unsigned which, const amp m0, const amp m1, const amp m2, const amp m3)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (!(r >> J & 1) && which >> r & 1) mix_pair(a[r], a[r | 1 << J], m0, m1, m2, m3);
    }
}

// Runs what follows for the registers for which a parity is not inverted, and then for the others, whose threads have the other
// one of two; inverted: a mask of registers, without the first.
#define BY_PARITY(inverted, odd) \
    _Pragma("unroll 1") for (unsigned chosen = ~(inverted); chosen; chosen = chosen == (inverted) ? 0 : (inverted), odd = !odd)

// One of two 2 × 2 matrices on register bit J. odd: whether it is the second one where `inverted` is 0 for the register.
template <int J>
__device__ __forceinline__ void parity_1(amp (&a)[16], const unsigned inverted, bool odd, const Entries& m)
{
    BY_PARITY(inverted, odd) {
        const amp m0 = either(odd, m.get(4), m.get(0)), m1 = either(odd, m.get(5), m.get(1));
        const amp m2 = either(odd, m.get(6), m.get(2)), m3 = either(odd, m.get(7), m.get(3));
        mix_where<J>(a, chosen, m0, m1, m2, m3);
    }
}

// A matrix on register bits I and J of which only the diagonal and the antidiagonal are not 0, where a mask has a 1 for the
// lowest register. m: its entries as those of `crossed_2`, real, or imaginary on the antidiagonal.
template <int I, int J, bool REAL>
__device__ __forceinline__ void real_pairs(amp (&a)[16], const unsigned which, const real (&m)[8])
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (r >> I & 1 || r >> J & 1 || !(which >> r & 1)) continue;
        amp &a0 = a[r], &a1 = a[r | 1 << I], &a2 = a[r | 1 << J], &a3 = a[r | 1 << I | 1 << J];
        real_pair(a0.x, REAL ? a3.x : a3.y, m[0], REAL ? m[1] : -m[1], m[6], m[7]);
        real_pair(a0.y, REAL ? a3.y : a3.x, m[0], m[1], REAL ? m[6] : -m[6], m[7]);
        real_pair(a1.x, REAL ? a2.x : a2.y, m[2], REAL ? m[3] : -m[3], m[4], m[5]);
        real_pair(a1.y, REAL ? a2.y : a2.x, m[2], m[3], REAL ? m[4] : -m[4], m[5]);
    }
}

// The same on all registers, or one of two by a parity: `odd` as in `parity_1`.
template <int I, int J>
__device__ __forceinline__ void pair_2(amp (&a)[16], const unsigned head, bool odd, const Entries& given)
{
    const unsigned inverted = head >> 16;
    BY_PARITY(inverted, odd) {
        real m[8];
#pragma unroll
        for (int k = 0; k < 8; ++k) m[k] = given.part(k);
        if (head & PAIR_BY_PARITY) {
#pragma unroll
            for (int k = 0; k < 8; ++k) m[k] = odd ? given.part(8 + k) : m[k];
        }
        if (head & PAIR_REAL) real_pairs<I, J, true>(a, chosen, m);
        else real_pairs<I, J, false>(a, chosen, m);
    }
}

// One of two factors, likewise.
__device__ __forceinline__ void parity_factors(amp (&a)[16], const unsigned inverted, const bool odd, const Entries& m)
{
    const amp f = either(odd, m.get(1), m.get(0)), g = either(odd, m.get(0), m.get(1));
#pragma unroll
    for (int r = 0; r < 16; ++r) scale(a[r], either(inverted >> r & 1, g, f));
}

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

// Register bits P and Q change places, by multiplications.
template <int P, int Q>
__device__ __forceinline__ void swap_bits(amp (&a)[16], const real one)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (!(r >> P & 1) || r >> Q & 1) continue;
        swap(a[r].x, a[r ^ (1 << P | 1 << Q)].x, one);
        swap(a[r].y, a[r ^ (1 << P | 1 << Q)].y, one);
    }
}

// An 8 × 8 matrix on all register bits but j, in the manner of `block`: bit j and the highest one change places, and results
// are put where they belong.
__device__ __forceinline__ void mix_3(
    amp (&a)[16], amp* tile, const Places& places, const quad* n, const unsigned j, const real one)
{
    Places lifted = places;
    lifted.hop[3] = j == 0 ? places.hop[0] : j == 1 ? places.hop[1] : j == 2 ? places.hop[2] : places.hop[3];
    if (j == 0) lifted.hop[0] = places.hop[3], swap_bits<0, 3>(a, one);
    if (j == 1) lifted.hop[1] = places.hop[3], swap_bits<1, 3>(a, one);
    if (j == 2) lifted.hop[2] = places.hop[3], swap_bits<2, 3>(a, one);
#pragma unroll 1
    for (unsigned r = 0; r < 8; r += 4, n += 32 * sizeof(amp) / sizeof(quad)) {
        const Entries m{n};
        const unsigned slot = places.first ^ (r & 4 ? lifted.hop[2] : 0);
#pragma unroll
        for (int y = 0; y < 4; ++y) {
            const unsigned here = slot ^ (y & 1 ? lifted.hop[0] : 0) ^ (y & 2 ? lifted.hop[1] : 0);
            amp low = times(m.get(8 * y), a[0]), high = times(m.get(8 * y), a[8]);
#pragma unroll
            for (int c = 1; c < 8; ++c) {
                add(low, m.get(8 * y + c), a[c]);
                add(high, m.get(8 * y + c), a[8 + c]);
            }
            near(tile, here) = low;
            near(tile, here ^ lifted.hop[3]) = high;
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

#define CONTROLS(call) \
    case 1: call(0, 1); break; \
    case 2: call(0, 2); break; \
    case 3: call(0, 3); break; \
    case 4: call(1, 2); break; \
    case 5: call(1, 3); break; \
    case 6: call(2, 3); break; \
    case 7: call(1, 0); break; \
    case 8: call(2, 0); break; \
    case 9: call(3, 0); break; \
    case 10: call(2, 1); break; \
    case 11: call(3, 1); break; \
    default: call(3, 2);
