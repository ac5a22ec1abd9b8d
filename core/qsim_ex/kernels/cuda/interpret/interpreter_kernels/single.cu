struct Words { unsigned w[WORDS]; };
struct Numbers { quad n[NUMBERS]; };

extern "C" __global__ void __launch_bounds__(BOUNDS) interpret(
    mem* state,                              // all amplitudes, in place
    const amp* tables,                       // entries of tables
    const u64 high,                          // the index bits outside this buffer
    const __grid_constant__ Words words,     // the sweep
    const __grid_constant__ Numbers given)   // numbers that all amplitudes share
{
    __shared__ amp tile[1 << TILE];
    amp a[16];
    unsigned t = threadIdx.x;
    const u64 b = blockIdx.x;
    const bool live = true;
