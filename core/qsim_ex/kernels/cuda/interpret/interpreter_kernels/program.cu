    Places places;
    const u64* at = program + 7;
    const unsigned tile_bits = (unsigned)program[0];
    while (true) {
        Operation op;
        op.kind = (unsigned)at[0] & 0xff;
        if (op.kind == END) break;
        if (op.kind == LOAD) {
            places = find(tile_bits, program + 1, at[1], at[2], outside);
#pragma unroll
            for (int r = 0; r < 16; ++r) {
                const u64 index = index_of(places, r);
                a[r].x = a[r].y = 0;
                if (index < size && !(index & fresh)) a[r] = state[index];
            }
            at += 3;
            continue;
        }
        if (op.kind == EXCHANGE) {
            park(tile, places, a);
            __syncthreads();
            places = find(tile_bits, program + 1, at[1], at[2], outside);
#pragma unroll
            for (int r = 0; r < 16; ++r) a[r] = tile[slot_of(places, r)];
            at += 3;
            continue;
        }
        op.reads = (unsigned)(at[0] >> 8) & 0xff;
        op.registers = (unsigned)(at[0] >> 16) & 0xffff;
        op.choice = (unsigned)(at[0] >> 32) & 0xff;
        op.mask = at[1];
        op.value = at[2];
        op.numbers = numbers + at[3];
        op.own = at[4];
        op.flat = op.own == 0;
        op.extra = at[5];
        const u64 i = high | places.here;
        if ((i & op.mask) == op.value) {
            unsigned s = 0;
#pragma unroll 1
            for (unsigned k = 0; k < op.reads; ++k) s |= (__popcll(i & at[6 + k]) & 1) << k;
            if (op.kind == DIAGONAL) {
                diagonal(a, op, s);
            } else if (op.kind == MIX_1 || op.kind == MIX_2) {
                bring(a, op.choice);
                if (op.kind == MIX_1) mix_1(a, op, s);
                else mix_2(a, op, s);
                bring(a, op.choice);
            } else if (op.kind == MIX_4) {
                mix_4(a, tile, places, op, s);
            } else if (op.kind == MIX_3) {
                mix_3(a, tile, places, op, s);
            } else {
                rename(a, tile, places, op.extra);
            }
        }
        at += 6 + op.reads;
    }
    if (program[5] != program[1] || program[6] != program[2]) places = find(tile_bits, program + 5, at[1], at[2], outside);
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        const u64 index = index_of(places, r);
        if (index < size) state[index] = a[r];
    }
}
