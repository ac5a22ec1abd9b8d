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
        u64 here = outside ^ added(words, at, words.w[RUNS] >> 8, outside);
        at += ADDED * (int)(words.w[RUNS] >> 8);
#pragma unroll
        for (int k = 0; k < 8; ++k) here ^= joined(spread(t, k) & words.w[LOAD + 2 * k], spread(t, k) & words.w[LOAD + 2 * k + 1]);
        const unsigned loaded = words.w[LOADED];
        const bool old = live && !(t & words.w[FRESH]);
#pragma unroll
        for (int r = 0; r < 16; ++r) {
            u64 there = 0;
#pragma unroll
            for (int j = 0; j < 4; ++j) there ^= r >> j & 1 ? wide(words.w, LOAD + 16 + 2 * j) : 0;
            a[r].x = a[r].y = 0;
            if (old && loaded >> r & 1) a[r] = state[here ^ there];
        }
    }
    const u64 whole = high | outside;
    while (true) {
        // Both are loaded before anything depends on the first.
        const unsigned head = words.w[at], second = words.w[at + AT], kind = head & 0xff;
        if (kind >= LAYER) {
            const quad* n = given.n + second;
            if (kind == LAYER) {
                n = layer<0>(a, head, n);
                n = layer<1>(a, head, n);
                n = layer<2>(a, head, n);
                layer<3>(a, head, n);
                at += 2;
                continue;
            }
            if (kind == CXS) {
                unsigned left = head >> 8;
#pragma unroll 1
                for (unsigned rest = second; left; --left, rest >>= 4) {
                    switch (rest & 15) {
#define CALL(C, J) cx<C, J>(a)
                        CONTROLS(CALL)
#undef CALL
                    }
                }
                at += 2;
                continue;
            }
            const bool inner = (t & (head >> 8 & 0xff)) == (head >> 16 & 0xff);
            if (kind < PHASE_IF) {
                if (!(head >> 24 && holds(whole, second))) {
                    switch (kind) {
#define CALL(J) flip_all<J>(a, inner)
                        EACH(FLIP_IF, CALL)
#undef CALL
                    }
                }
                at += 2;
                continue;
            }
            const amp f = Entries{n}.get(0);
            if (kind < PHASE_2) {
                if (!(head >> 24 && holds(whole, words.w[at + UNLESS])) && inner) {
                    switch (kind) {
                        case PHASE_IF: phase<0>(a, f); break;
#define CALL(J) phase<1 << J>(a, f)
                        EACH(PHASE_IF + 1, CALL)
#undef CALL
                        default: masked_phase(a, f, words.w[at + MASK]);
                    }
                }
                at += 4;
                continue;
            }
            if (kind < PARITY_1) {
                switch (kind) {
#define CALL(I, J) phase<1 << I | 1 << J>(a, f)
                    PAIRS(PHASE_2, CALL)
#undef CALL
                }
                at += 2;
                continue;
            }
            const bool odd = parity_of(words, at, t, whole);
            switch (kind) {
#define CALL(J) parity_1<J>(a, head >> 8, odd, Entries{n})
                EACH(PARITY_1, CALL)
#undef CALL
                default: parity_factors(a, head >> 8, odd, Entries{n});
            }
            at += PARITY_WORDS;
            continue;
        }
        if (kind == END) break;
        if (kind == EXCHANGE) {
            park(tile, places, a);
            ++at;
#ifdef TENSOR
#pragma unroll 1
            for (unsigned left = head >> 8; left; --left, at += FRAGMENTS) {
                asm volatile("" : "+r"(t));
                multiply_fragments(tile, words, at, (const real*)(given.n + words.w[at]), t);
            }
#endif
            __syncthreads();
            asm volatile("" : "+r"(t));
            find(places, words, at, t);
            fetch(tile, places, a);
            at += 12;
            continue;
        }
        if (kind >= MIX_3) {
            const quad* n = given.n + second;
            lift(a, kind - MIX_3);
            mix_3(a, tile, places, n);
            lift(a, kind - MIX_3);
            at += 2;
            continue;
        }
        if (kind == FACTORS || kind >= MIX_2 && kind <= BLOCK) {
            // By a place of which the compiler does not know that it is the same for all threads, so that numbers come into
            // registers of threads: there are too many at once for uniform ones.
            const Entries m{given.n + second + (t & (unsigned)(high >> 63))};
            switch (kind) {
                case FACTORS:
#pragma unroll
                    for (int r = 0; r < 16; ++r) scale(a[r], m.get(r));
                    break;
#define CALL(I, J) mix_2<I, J>(a, m)
                PAIRS(MIX_2, CALL)
#undef CALL
#define CALL(I, J) crossed_2<I, J>(a, m)
                PAIRS(CROSSED_2, CALL)
#undef CALL
                default: block(a, tile, places, given.n + second);
            }
            at += 2;
            continue;
        }
        bool outer = true;
        if (head >> 24) outer = (whole & wide(words.w, at + OUTSIDE)) == wide(words.w, at + OUTSIDE_VALUE);
        const bool inner = (t & (head >> 8 & 0xff)) == (head >> 16 & 0xff);
        const unsigned which = words.w[at + WHICH];
        if (kind >= PHASE && kind < MIX_1) {
            if (outer && kind >= FLIP) {
                const unsigned chosen = inner ? which : 0;
                switch (kind) {
#define CALL(J) flip<J>(a, chosen)
                    EACH(FLIP, CALL)
#undef CALL
                }
            } else if (outer) {
                const amp f = Entries{given.n + second}.get(0);
                if (inner) masked_phase(a, f, which);
            }
            at += 7;
            continue;
        }
        const unsigned reads = words.w[at + READS];
        if (outer) {
            Reading it;
            it.s = 0;
            it.which = inner ? which : 0;
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                const unsigned column = words.w[at + THREADS + k / 2] >> 16 * (k & 1) & 0xffff;
                it.s ^= spread(t, k) & column;
            }
#pragma unroll 1
            for (unsigned k = 0; k < reads; ++k) {
                const int word = at + REST + 3 * (int)k;
                const unsigned set = __popcll(whole & wide(words.w, word)) & 1;
                it.s ^= set << words.w[word + 2];
            }
#pragma unroll
            for (int j = 0; j < 4; ++j) it.own[j] = words.w[at + OWN + j / 2] >> 16 * (j & 1) & 0xffff;
            const amp* numbers = tables + words.w[at + AT];
            const unsigned choice = words.w[at + CHOICE];
            const u64 extra = wide(words.w, at + EXTRA);
            if (kind == TABLE) {
                table(a, numbers, it);
            } else if (kind == ANY_1 || kind == ANY_2) {
                bring(a, choice);
                if (inner) {
                    if (kind == ANY_1) any_1(a, numbers, it);
                    else any_2(a, numbers, it);
                }
                bring(a, choice);
            } else if (inner) {
                if (kind == RENAME) rename(a, tile, places, extra);
                else any_more(a, tile, places, numbers, it, choice, extra);
            }
        }
        at += REST + 3 * (int)reads;
    }
    {
        asm volatile("" : "+r"(t));
        u64 here = outside ^ added(words, at + 1, words.w[at] >> 8, outside);
#pragma unroll
        for (int k = 0; k < 8; ++k) here ^= joined(spread(t, k) & words.w[STORE + 2 * k], spread(t, k) & words.w[STORE + 2 * k + 1]);
        const unsigned there_are = words.w[LIVE];
#pragma unroll
        for (int r = 0; r < 16; ++r) {
            u64 there = 0;
#pragma unroll
            for (int j = 0; j < 4; ++j) there ^= r >> j & 1 ? wide(words.w, STORE + 16 + 2 * j) : 0;
            if (live && there_are >> r & 1) state[here ^ there] = a[r];
        }
    }
}
