// Small changes of a state in place, and amplitudes by index.

// One factor where the condition holds, another where it does not.
extern "C" __global__ void __launch_bounds__(256) scale(
    mem* state, const u64 size, const u64 mask, const u64 value, const double inside, const double outside)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += (u64)gridDim.x * blockDim.x) {
        const double factor = (i & mask) == value ? inside : outside;
        if (factor == 1) continue;
        amp a;
        a.x = a.y = 0;
        if (factor != 0) {  // what becomes 0 is not read: that is half of the time of the zeros of a state that grew
            a = state[i];
            a.x = (real)(a.x * factor), a.y = (real)(a.y * factor);
        }
        state[i] = a;
    }
}

// Exchange the amplitudes at which bits under a mask have one value with those at which they have another.
extern "C" __global__ void __launch_bounds__(256) move(
    mem* state, const u64 size, const u64 mask, const u64 value, const u64 to)
{
    for (u64 j = (u64)blockIdx.x * blockDim.x + threadIdx.x; j < size; j += (u64)gridDim.x * blockDim.x) {
        const u64 i = inserted(j, mask);
        const amp a = state[i | value];
        state[i | value] = state[i | to];
        state[i | to] = a;
    }
}

// One amplitude becomes 1.
extern "C" __global__ void basis(mem* state, const u64 index)
{
    amp one;
    one.x = 1;
    one.y = 0;
    state[index] = one;
}

// out[k] = state[indices[k]]
extern "C" __global__ void __launch_bounds__(256) take(
    const mem* state, const long long* indices, mem* out, const u64 size)
{
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < size; k += (u64)gridDim.x * blockDim.x)
        out[k] = state[indices[k]];
}
