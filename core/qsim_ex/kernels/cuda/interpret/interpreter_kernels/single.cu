extern "C" __global__ void __launch_bounds__(BOUNDS) interpret(
    amp* state,            // all amplitudes, in place
    const amp* numbers,    // all entries of all items
    const u64* program,    // the sweep
    const u64 high,        // the index bits outside this buffer
    const u64 size)        // amplitudes in this buffer; smaller than a block's share if there are fewer than 16
{
    __shared__ amp tile[1 << TILE];
    amp a[16];
    const u64 fresh = program[3];
    u64 outside = blockIdx.x;
#pragma unroll 1
    for (u64 skipped = program[4]; skipped; skipped &= skipped - 1) {
        const u64 below = (skipped & (~skipped + 1)) - 1;
        outside = (outside & ~below) << 1 | (outside & below);
    }
