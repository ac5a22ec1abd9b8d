// One kernel that runs any sweep of adjoint differentiation: the interpreter of program.cu on a state and a cotangent, with the
// sums of collect.cu between the two. The bit COLLECTED of an operation's first word says that they are needed.
//
// Where a state's numbers are few, they and the program are arguments of the kernel, as in the interpreter: WORDS and NUMBERS
// say how many there may be.
struct Pointer { const unsigned* w; };
#ifdef WORDS
struct Words { unsigned w[WORDS]; };
struct Numbers { quad n[NUMBERS]; };
__device__ __forceinline__ const quad* numbers_of(const Numbers& given, const u64) { return given.n; }
#else
typedef Pointer Words;
struct Numbers { const quad* n; };
__device__ __forceinline__ const quad* numbers_of(const Numbers& given, const u64 amplitudes)
{
    return (const quad*)((const amp*)given.n + amplitudes);
}
#endif

enum { COLLECTED = 128 };

// Where a thread's amplitudes are in memory: the first, and what each register bit adds, by XOR.
struct Memory {
    u64 first, hop[4];

    template <class Words>
    __device__ __forceinline__ Memory(const Words& words, const int at, const unsigned t, const u64 outside) : first(outside)
    {
#pragma unroll
        for (int k = 0; k < 8; ++k)
            first ^= joined(spread(t, k) & words.w[at + 2 * k], spread(t, k) & words.w[at + 2 * k + 1]);
#pragma unroll
        for (int j = 0; j < 4; ++j) hop[j] = wide(words.w, at + 16 + 2 * j);
    }

    __device__ __forceinline__ u64 of(const int r) const
    {
        u64 there = first;
#pragma unroll
        for (int j = 0; j < 4; ++j) there ^= r >> j & 1 ? hop[j] : 0;
        return there;
    }

    __device__ __forceinline__ void load(amp (&a)[16], const mem* from, const unsigned which) const
    {
#pragma unroll
        for (int r = 0; r < 16; ++r) {
            a[r].x = a[r].y = 0;
            if (which >> r & 1) a[r] = from[of(r)];
        }
    }

    __device__ __forceinline__ void store(const amp (&a)[16], mem* to, const unsigned which) const
    {
#pragma unroll
        for (int r = 0; r < 16; ++r) {
            if (which >> r & 1) to[of(r)] = a[r];
        }
    }
};

// One behind the other through the same tile.
__device__ __forceinline__ void change_places(
    amp (&l)[16], amp (&x)[16], amp* tile, Places& places, const Words& words, const int at, const unsigned t)
{
    const Places before = places;
    park(tile, before, l);
    __syncthreads();
    find(places, words, at, t);
    fetch(tile, places, l);
    __syncthreads();
    park(tile, before, x);
    __syncthreads();
    fetch(tile, places, x);
}

// A 2 × 2 matrix on one register bit, on both, with its sums between.
__device__ __forceinline__ void run_1(
    amp (&l)[16], amp (&x)[16], const unsigned kind, const Entries& m, const bool collected, double* to)
{
    switch (kind) {
#define CALL(J) mix_1<J>(l, m); if (collected) of_mix_1<J>(l, x, to); mix_1<J>(x, m)
        EACH(MIX_1, CALL)
#undef CALL
#define REALS m.part(0), m.part(1), m.part(2), m.part(3)
#define CALL(J) real_1<J>(l, REALS); if (collected) of_real_1<J>(l, x, to); real_1<J>(x, REALS)
        EACH(REAL_1, CALL)
#undef CALL
#define CALL(J) crossed_1<J>(l, REALS); if (collected) of_crossed_1<J>(l, x, to); crossed_1<J>(x, REALS)
        EACH(CROSSED_1, CALL)
#undef CALL
    }
}

__device__ __forceinline__ void run_factors(
    amp (&l)[16], amp (&x)[16], const Entries& m, const bool collected, double* to)
{
#pragma unroll
    for (int r = 0; r < 16; ++r) l[r] = times(m.get(r), l[r]);
    if (collected) of_factors(l, x, to);
#pragma unroll
    for (int r = 0; r < 16; ++r) x[r] = times(m.get(r), x[r]);
}

// A table of factors on both, each of which is loaded once; eight at a time, so that a thread waits twice.
__device__ __forceinline__ void run_table(
    amp (&l)[16], amp (&x)[16], amp* tile, const Places& places, const amp* numbers, const Reading& it, const bool collected)
{
#pragma unroll
    for (int first = 0; first < 16; first += 8) {
        amp f[8];
#pragma unroll
        for (int r = 0; r < 8; ++r) f[r] = numbers[block_of(it, first + r)];
#pragma unroll
        for (int r = first; r < first + 8; ++r) {
            const bool chosen = it.which >> r & 1;
            amp m = f[r - first];
            m.x = chosen ? m.x : 1;
            m.y = chosen ? m.y : 0;
            l[r] = times(m, l[r]);
            if (collected) {
                amp both = product(l[r], x[r]);
                both.x = chosen ? both.x : 0;
                both.y = chosen ? both.y : 0;
                near(tile, slot_of(places, r)) = both;
            }
            x[r] = times(m, x[r]);
        }
    }
}

// A factor, which is 1 for threads that a condition leaves out.
__device__ __forceinline__ void run_phase(amp (&a)[16], const unsigned kind, const unsigned which, const amp f)
{
    switch (kind) {
        case PHASE: phase<0>(a, f); break;
#define CALL(J) phase<1 << J>(a, f)
        EACH(PHASE + 1, CALL)
#undef CALL
        default:
#pragma unroll
            for (int r = 0; r < 16; ++r) {
                if (which >> r & 1) a[r] = times(f, a[r]);
            }
    }
}

// An operation that is seldom, what it takes, and where its sums go; choice, extra: as in functions.cu.
struct Seldom {
    unsigned kind, choice;
    u64 extra;
    bool collected, inner;
    const quad* n;
    double* sums;
    const amp* numbers;
    Reading it;
    Table table;
    Pointer record;
};

// The kernel has these where SELDOM is defined. Without them it needs no local memory.
#ifdef SELDOM
// Brings two register bits, by the number of their pair, to places 0 and 1, or back.
__device__ __forceinline__ void bring_pair(amp (&a)[16], const unsigned pair, const bool back)
{
    const bool high = pair == 2 || pair >= 4, middle = pair == 1 || pair == 3;
    if (back && high) swap_bits<1, 3>(a);
    if (back && middle) swap_bits<1, 2>(a);
    if (pair == 3 || pair == 4) swap_bits<0, 1>(a);
    if (pair == 5) swap_bits<0, 2>(a);
    if (!back && middle) swap_bits<1, 2>(a);
    if (!back && high) swap_bits<1, 3>(a);
}

// Runs it on one of both, brought as its words are written.
__device__ __forceinline__ void run_one(amp (&a)[16], amp* tile, const Places& places, const Seldom& of)
{
    const Entries m{of.n};
    if (of.kind < CROSSED_2) mix_2<0, 1>(a, m);
    else if (of.kind < BLOCK) crossed_2<0, 1>(a, m);
    else if (of.kind == BLOCK) block(a, tile, places, of.n);
    else if (!of.inner) return;
    else if (of.kind == ANY_1) any_1(a, of.numbers, of.it);
    else if (of.kind == ANY_2) any_2(a, of.numbers, of.it);
    else if (of.kind == RENAME) rename(a, tile, places, of.extra);
    else any_more(a, tile, places, of.numbers, of.it, of.choice, of.extra);
}

__device__ __forceinline__ void add_sums(
    amp (&l)[16], amp (&x)[16], amp* tile, const Places& places, const Seldom& of, const unsigned t)
{
    if (of.kind < CROSSED_2) of_mix_2<0, 1>(l, x, of.sums);
    else if (of.kind < BLOCK) of_crossed_2<0, 1>(l, x, of.sums);
    else if (of.kind == BLOCK) of_block(l, x, of.sums);
    else {
        const bool low = of.kind <= ANY_2;
        const unsigned count = low ? of.kind - ANY_1 + 1 : of.choice;
        of_any(l, x, tile, places, of.table, of.record, 0, count, low ? 0x10 : of.extra, t);
    }
}

// Runs it on both, which wait in local memory, so that it takes no registers from what is frequent. There is one text for
// the two of them: they change places twice.
__device__ __noinline__ void run_seldom(
    amp* cotangent, amp* state, amp* tile, const Places places, const Seldom of, const unsigned t)
{
    amp l[16], x[16];
#pragma unroll
    for (int r = 0; r < 16; ++r) l[r] = cotangent[r], x[r] = state[r];
    const bool pair = of.kind < BLOCK, any = of.kind == ANY_1 || of.kind == ANY_2;
    const unsigned number = of.kind - (of.kind < CROSSED_2 ? MIX_2 : CROSSED_2);
    if (pair) bring_pair(l, number, false), bring_pair(x, number, false);
    if (any) bring(l, of.choice), bring(x, of.choice);
#pragma unroll 1
    for (int second = 0; second < 2; ++second) {
        run_one(l, tile, places, of);
        if (of.collected && !second) add_sums(l, x, tile, places, of, t);
#pragma unroll
        for (int r = 0; r < 16; ++r) {
            const amp kept = l[r];
            l[r] = x[r];
            x[r] = kept;
        }
    }
    if (pair) bring_pair(l, number, true), bring_pair(x, number, true);
    if (any) bring(l, of.choice), bring(x, of.choice);
#pragma unroll
    for (int r = 0; r < 16; ++r) cotangent[r] = l[r], state[r] = x[r];
}

__device__ __forceinline__ void call_seldom(
    amp (&l)[16], amp (&x)[16], amp* tile, const Places& places, const Seldom& of, const unsigned t)
{
    amp cotangent[16], state[16];
#pragma unroll
    for (int r = 0; r < 16; ++r) cotangent[r] = l[r], state[r] = x[r];
    run_seldom(cotangent, state, tile, places, of, t);
#pragma unroll
    for (int r = 0; r < 16; ++r) l[r] = cotangent[r], x[r] = state[r];
}
#endif

struct Sizes {
    u64 stride;   // from a row's numbers to the next row's; 0 if all share them
    u64 between;  // from a row's cotangent to the next row's
    u64 width;    // of a part's sums: those of each warp, and of tables
    u64 shared;   // sums of a warp
    u64 records;  // where the records of tables begin behind the program
    u64 tiles;    // a row has 2^tiles of them
    u64 bits;     // and 2^bits amplitudes
    u64 lanes;    // 2^lanes threads work on a tile; others of the warp take part in barriers alone
    u64 parts;    // 2^parts blocks share a row
    u64 last;     // whether the state is written back
    u64 high;     // the index bits outside of the states
};

extern "C" __global__ void __launch_bounds__(BOUNDS) adjoint(
    mem* state,         // the states of all rows, in place
    mem* cotangent,     // a cotangent of each row, in place
    double* sums,       // [rows, 2^parts, width]
    const amp* tables,  // entries of tables, of the first row
    const Sizes sizes,
    const __grid_constant__ Words words,
    const __grid_constant__ Numbers given)  // of the first row: numbers that all its amplitudes share
{
    __shared__ amp every[1 << TILE];
    __shared__ amp stage[8];
    amp l[16], x[16];
    const unsigned lanes = (unsigned)sizes.lanes, parts = (unsigned)sizes.parts;
    const bool live = !(threadIdx.x >> lanes);
    amp* const tile = every + (threadIdx.x >> lanes << (lanes + 4));
    const u64 row = blockIdx.x >> parts;
    state += row << sizes.bits;
    cotangent += row * sizes.between;
    tables += row * sizes.stride;
    sums += (u64)blockIdx.x * sizes.width;
    double* const of_tables = sums + (blockDim.x >> 5) * sizes.shared;
    sums += (threadIdx.x >> 5) * sizes.shared;
    unsigned t = threadIdx.x & ((1u << lanes) - 1);
#pragma unroll 1
    for (u64 b = blockIdx.x & ((1u << parts) - 1); b >> sizes.tiles == 0; b += 1ull << parts) {
        asm volatile("" : "+r"(t));
        int record = (int)sizes.records;
        u64 outside = 0;
        int at = HEAD;
#pragma unroll 1
        for (unsigned left = words.w[RUNS] & 0xff; left; --left, ++at) {
            const unsigned run = words.w[at], length = run >> 16;
            outside |= (b >> (run & 0xff) & (length < 64 ? (1ull << length) - 1 : ~0ull)) << (run >> 8 & 0xff);
        }
        Places places;
        find(places, words, SLOTS, t);
        {
            const Memory from(words, LOAD, t, outside ^ added(words, at, words.w[RUNS] >> 8, outside));
            at += ADDED * (int)(words.w[RUNS] >> 8);
            const unsigned there_are = live ? words.w[LOADED] : 0;
            from.load(l, cotangent, there_are);
            from.load(x, state, there_are);
        }
        const u64 whole = sizes.high | outside;
        while (true) {
            const unsigned head = words.w[at], kind = head & 127;
            const bool collected = head & COLLECTED;
            if (kind == END) break;
            if (kind == EXCHANGE) {
                change_places(l, x, tile, places, words, at + 1, t);
                at += 13;
                continue;
            }
            const quad* const n = numbers_of(given, row * sizes.stride) + words.w[at + AT];
            double* const own = sums + words.w[at + AT] * (sizeof(quad) / sizeof(real));
            if (kind == FACTORS || kind >= MIX_1 && kind < MIX_2) {
                const Entries m{n};
                if (kind == FACTORS) run_factors(l, x, m, collected, own);
                else run_1(l, x, kind, m, collected, own);
                at += 2;
                continue;
            }
            const bool outer = !(head >> 24) || (whole & wide(words.w, at + OUTSIDE)) == wide(words.w, at + OUTSIDE_VALUE);
            const bool inner = (t & (head >> 8 & 0xff)) == (head >> 16 & 0xff);
            if (kind >= PHASE && kind < MIX_1) {
                const unsigned which = words.w[at + WHICH];
                if (outer && kind >= FLIP) {
                    const unsigned chosen = inner ? which : 0;
                    switch (kind) {
#define CALL(J) flip<J>(l, chosen); flip<J>(x, chosen)
                        EACH(FLIP, CALL)
#undef CALL
                    }
                } else if (outer) {
                    amp f = Entries{n}.get(0);
                    f.x = inner ? f.x : 1;
                    f.y = inner ? f.y : 0;
                    run_phase(l, kind, which, f);
                    if (collected) of_phase(l, x, which, inner, own);
                    run_phase(x, kind, which, f);
                }
                at += 7;
                continue;
            }
            Seldom of;
            of.kind = kind;
            of.collected = collected;
            of.inner = inner;
            of.n = n;
            of.sums = own;
            int length = 2;
            if (kind == TABLE || kind > BLOCK) {
                const unsigned reads = words.w[at + READS];
                unsigned block = 0;
                of.it.s = 0;
                of.it.which = inner ? words.w[at + WHICH] : 0;
#pragma unroll
                for (int k = 0; k < 8; ++k) {
                    const unsigned column = words.w[at + THREADS + k / 2] >> 16 * (k & 1) & 0xffff;
                    of.it.s ^= spread(t, k) & column;
                }
#pragma unroll 1
                for (unsigned k = 0; k < reads; ++k) {
                    const int word = at + REST + 3 * (int)k;
                    block ^= (unsigned)(__popcll(whole & wide(words.w, word)) & 1) << words.w[word + 2];
                }
                of.it.s ^= block;
#pragma unroll
                for (int j = 0; j < 4; ++j) of.it.own[j] = words.w[at + OWN + j / 2] >> 16 * (j & 1) & 0xffff;
                of.numbers = tables + words.w[at + AT];
                of.choice = words.w[at + CHOICE];
                of.extra = wide(words.w, at + EXTRA);
                of.table.which = of.it.which;
                of.table.block = block;
                of.table.stride = kind == TABLE ? 1 : kind <= ANY_2 ? 4u << 2 * (kind - ANY_1) : 1u << 2 * of.choice;
                of.table.sums = of_tables + 2 * (u64)words.w[at + AT];
                of.table.stage = stage;
                of.table.live = live;
                of.record.w = words.w + record;
                length = REST + 3 * (int)reads;
            }
            if (outer && kind == TABLE) {
                run_table(l, x, tile, places, of.numbers, of.it, collected);
                if (collected) add_entries(tile, of.table, words, record, 0, t);
            } else if (outer) {
#ifdef SELDOM
                call_seldom(l, x, tile, places, of, t);
#endif
            }
            if (collected && length > 2) record += RECORD;
            at += length;
        }
        {
            asm volatile("" : "+r"(t));
            const Memory into(words, STORE, t, outside ^ added(words, at + 1, words.w[at] >> 8, outside));
            const unsigned there_are = live ? words.w[LIVE] : 0;
            into.store(l, cotangent, there_are);
            if (sizes.last) into.store(x, state, there_are);
        }
        __syncthreads();
    }
}
