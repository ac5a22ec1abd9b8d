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
    const real one = 1 + (real)(unsigned)(high >> 63);
    // A 0 of which the compiler does not know that it is the same for all threads, so that numbers behind it come into registers
    // of threads: there are too many at once for uniform ones.
    const auto own = [&] { return t & (unsigned)(high >> 63); };
    at *= 4;  // in bytes from here on: no instruction for an address
    const auto words_at = [&](const int byte) { return Some{(const unsigned*)((const char*)words.w + byte)}; };
    while (true) {
        const Some here = words_at(at);
        const auto word = [&](const int k) { return here.w[k]; };
        // Both are loaded before anything depends on the first.
        const unsigned head = word(0), second = word(AT);
        const quad* const numbers = (const quad*)((const char*)given.n + second);
        if (head & LAYER) {
            const quad* n = layer<0>(a, head, numbers);
            n = layer<1>(a, head, n);
            n = layer<2>(a, head, n);
            layer<3>(a, head, n);
            at += 8;
            continue;
        }
        const unsigned kind = head & 0xff;
        if (head & FLIP_IF) {
            const bool inner = (t & (head >> 8 & 0xff)) == (head >> 16 & 0xff);
            if (!(head & (CXS ^ FLIP_IF))) {
                const bool set = (unsigned)whole & second | (unsigned)(whole >> 32) & word(FLIP_BIT + 1);
                if (set == (bool)(head & 1 << 24) && inner) {
                    switch (kind) {
#define CALL(J) cx<J, J>(a, one)
                        EACH(FLIP_IF, CALL)
#undef CALL
                    }
                }
                at += 4 * FLIP_WORDS;
                continue;
            }
            if (kind == CXS) {
#pragma unroll 1
                for (unsigned rest = second; rest; rest >>= 4) {
                    switch (rest & 15) {
#define CALL(C, J) cx<C, J>(a, one)
                        CONTROLS(CALL)
#undef CALL
                    }
                }
                at += 8;
                continue;
            }
            // Under one bit outside the tile at most.
            const auto acts = [&] {
                const bool set = (unsigned)whole & word(BIT) | (unsigned)(whole >> 32) & word(BIT + 1);
                return set == (bool)(head & 1 << 24) && inner;
            };
            if (kind >= MIX_IF) {
                const Entries m{numbers + own()};
                const amp m0 = m.get(0), m1 = m.get(1), m2 = m.get(2), m3 = m.get(3);
                if (acts()) {
                    switch (kind) {
#define CALL(J) mix_where<J>(a, word(MASK), m0, m1, m2, m3)
                        EACH(MIX_IF, CALL)
#undef CALL
                    }
                }
                at += 4 * IF_WORDS;
                continue;
            }
            if (kind >= CHOICE_1) {
                const bool outer = !(head >> 24) || (whole & wide(here.w, OUTSIDE)) == wide(here.w, OUTSIDE_VALUE);
                if (outer) {
                    const Reading it = reading(here, 0, t, whole);
                    if (inner) {
                        switch (kind) {
#define CALL(J) choice_1<J>(a, tables + second, it)
                            EACH(CHOICE_1, CALL)
#undef CALL
                        }
                    }
                }
                at += 4 * (REST + 3 * (int)word(READS));
                continue;
            }
            const Entries m{numbers};
            if (kind >= PARITY) {
                const bool odd = parity_of(here, 0, t, whole);
                switch (kind) {
#define CALL(J) parity_1<J>(a, head >> 16, odd, m)
                    EACH(PARITY_1, CALL)
#undef CALL
                    default: parity_factors(a, head >> 16, odd, m);
                }
                at += 4 * PARITY_WORDS;
                continue;
            }
            const amp f = m.get(0);
            if (kind >= PHASE_2) {
                switch (kind) {
#define CALL(I, J) phase<1 << I | 1 << J>(a, f)
                    PAIRS(PHASE_2, CALL)
#undef CALL
                }
                at += 8;
                continue;
            }
            if (acts()) {
                switch (kind) {
                    case PHASE_IF: phase<0>(a, f); break;
#define CALL(J) phase<1 << J>(a, f)
                    EACH(PHASE_IF + 1, CALL)
#undef CALL
                    default: masked_phase(a, f, word(MASK));
                }
            }
            at += 4 * IF_WORDS;
            continue;
        }
        if (kind == END) break;
        if (kind == EXCHANGE) {
            park(tile, places, a);
            at += 4;
#ifdef TENSOR
#pragma unroll 1
            for (unsigned left = head >> 8; left; --left, at += 4 * FRAGMENTS) {
                asm volatile("" : "+r"(t));
                multiply_fragments(tile, words_at(at), 0, (const real*)(given.n + words_at(at).w[0]), t);
            }
#endif
            __syncthreads();
            asm volatile("" : "+r"(t));
            find(places, words_at(at), 0, t);
            fetch(tile, places, a);
            at += 48;
            continue;
        }
        if (kind >= PAIR_2) {
            const Entries m{numbers + own()};
            const bool by_parity = head & PAIR_BY_PARITY, odd = by_parity && parity_of(here, 0, t, whole);
            switch (kind) {
#define CALL(I, J) pair_2<I, J>(a, head, odd, m)
                PAIRS(PAIR_2, CALL)
#undef CALL
            }
            at += by_parity ? 4 * PARITY_WORDS : 8;
            continue;
        }
        if (kind >= MIX_3) {
            mix_3(a, tile, places, given.n + second + own(), kind - MIX_3, one);
            at += 8;
            continue;
        }
        if (kind == FACTORS || kind >= MIX_2 && kind <= BLOCK) {
            const Entries m{given.n + second + own()};
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
            at += 8;
            continue;
        }
        bool outer = true;
        if (head >> 24) outer = (whole & wide(here.w, OUTSIDE)) == wide(here.w, OUTSIDE_VALUE);
        const bool inner = (t & (head >> 8 & 0xff)) == (head >> 16 & 0xff);
        const unsigned which = word(WHICH);
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
            at += 28;
            continue;
        }
        if (outer) {
            Reading it = reading(here, 0, t, whole);
            it.which = inner ? which : 0;
            const amp* numbers = tables + second;
            const unsigned choice = word(CHOICE);
            const u64 extra = joined(word(EXTRA), word(EXTRA + 1));
            if (kind == TABLE) {
                table(a, numbers, it);
            } else if (kind == ANY_2) {
                bring(a, choice);
                if (inner) any_2(a, numbers, it);
                bring(a, choice);
            } else if (inner) {
                if (kind == RENAME) rename(a, tile, places, extra);
                else any_more(a, tile, places, numbers, it, choice, extra);
            }
        }
        at += 4 * (REST + 3 * (int)word(READS));
    }
    {
        asm volatile("" : "+r"(t));
        const Some end = words_at(at);
        u64 here = outside ^ added(end, 1, end.w[0] >> 8, outside);
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
