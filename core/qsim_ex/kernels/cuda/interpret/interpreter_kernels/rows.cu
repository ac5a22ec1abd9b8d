extern "C" __global__ void __launch_bounds__(BOUNDS) interpret(
    amp* state,            // the amplitudes of all rows, in place
    const amp* numbers,    // all entries of all items of the first row
    const u64* program,    // the sweep
    const u64 stride,      // from a row's entries to the next row's; 0 if all share them
    const u64 count,       // tiles of all rows
    const unsigned tiles,  // a row has 2^tiles of them
    const unsigned bits,   // and 2^bits amplitudes
    const unsigned lanes)  // 2^lanes threads work on a tile; small tiles share a block
{
    __shared__ amp near[1 << TILE];
    amp a[16];
    const u64 fresh = program[3], high = 0;
    const unsigned e = threadIdx.x >> lanes;
    amp* const tile = near + (e << (lanes + 4));
    const u64 which = (u64)blockIdx.x * (blockDim.x >> lanes) + e;
    const u64 size = which < count ? 1ull << bits : 0;  // what is beyond the last tile takes part in the barriers alone
    const u64 row = size ? which >> tiles : 0;
    state += row << bits;
    numbers += row * stride;
    u64 outside = which & ((1ull << tiles) - 1);
#pragma unroll 1
    for (u64 skipped = program[4]; skipped; skipped &= skipped - 1) {
        const u64 below = (skipped & (~skipped + 1)) - 1;
        outside = (outside & ~below) << 1 | (outside & below);
    }
