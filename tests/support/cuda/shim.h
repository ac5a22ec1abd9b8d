// Enough of CUDA C++ for g++ to compile a kernel's source text as it is; threads of a block are fibers.
#pragma once
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__
#define __shared__ static
#define __restrict__ __restrict
struct float2 { float x, y; };
struct double2 { double x, y; };
struct __attribute__((aligned(16))) float4 { float x, y, z, w; };
struct dim3 { unsigned x, y, z; };
extern "C" {
extern dim3 threadIdx, blockIdx, blockDim, gridDim;
void __syncthreads();
inline void __syncwarp() {}
double hypot(double, double);  // of the C library: its header would take most of the time of compiling
double fma(double, double, double);
void emulate(unsigned grid, unsigned block, int backwards, void (*body)(void*), void* closure);
}
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// All threads of a block take part, since a warp's fibers wait for each other as the block's do.
template <class T> inline T __shfl_xor_sync(unsigned, T value, unsigned mask)
{
    static T given[1024];
    __syncthreads();
    given[threadIdx.x] = value;
    __syncthreads();
    return given[threadIdx.x ^ mask];
}
template <class T> inline T __shfl_up_sync(unsigned, T value, unsigned reach)
{
    static T given[1024];
    __syncthreads();
    given[threadIdx.x] = value;
    __syncthreads();
    return threadIdx.x % 32 < reach ? value : given[threadIdx.x - reach];
}
static inline void atomicAdd(double* at, double value) { *at += value; }
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
template <class T> static inline T __ldg(const T* at) { return *at; }
template <class T> static inline T __ldcs(const T* at) { return *at; }
template <class T> static inline void __stcs(T* at, T value) { *at = value; }
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline double2 make_double2(double x, double y) { return {x, y}; }
