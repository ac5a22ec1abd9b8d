struct Words { const unsigned* w; };
struct Numbers { const quad* n; };

extern "C" __global__ void __launch_bounds__(BOUNDS) interpret(
    mem* state,             // the amplitudes of all rows, in place
    const amp* numbers,     // of the first row: numbers that all its amplitudes share, and then entries of tables
    const unsigned* program,  // the sweep
    const u64 high,         // the index bits outside this buffer
    const u64 stride,       // from a row's numbers to the next row's; 0 if all share them
    const u64 count,        // tiles of all rows
    const unsigned tiles,   // a row has 2^tiles of them
    const unsigned bits,    // and 2^bits amplitudes
    const unsigned lanes)   // 2^lanes threads work on a tile; small tiles share a block
{
    __shared__ amp every[1 << TILE];
    amp a[16];
    const unsigned e = threadIdx.x >> lanes;
    amp* const tile = every + (e << (lanes + 4));
    const u64 which_tile = (u64)blockIdx.x * (blockDim.x >> lanes) + e;
    const bool live = which_tile < count;  // what is beyond the last tile takes part in the barriers alone
    const u64 row = live ? which_tile >> tiles : 0;
    state += row << bits;
    numbers += row * stride;
    unsigned t = threadIdx.x & ((1u << lanes) - 1);
    const u64 b = which_tile & ((1ull << tiles) - 1);
    const Words words{program};
    const Numbers given{(const quad*)numbers};
    const amp* tables = numbers + words.w[TABLES];
