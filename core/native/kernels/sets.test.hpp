// Kernels of each instruction set that this processor runs: QX_DECLARE(inner, (const void*, …)) declares them, and
// each_set(inner_sets, …) calls a test with each.
#pragma once

#include "base/int.hpp"

extern "C" qx::Int qx_level();

#if defined(__x86_64__)
#define QX_OF_SETS(name) {qx_##name##_v2, qx_##name##_v3, qx_##name##_v4}
#define QX_DECLARE(name, parameters)              \
    extern "C" qx::Int qx_##name##_v2 parameters; \
    extern "C" qx::Int qx_##name##_v3 parameters; \
    extern "C" qx::Int qx_##name##_v4 parameters; \
    using name##_type = qx::Int(*) parameters;    \
    inline constexpr name##_type name##_sets[] = QX_OF_SETS(name)
#else
#define QX_DECLARE(name, parameters)                \
    extern "C" qx::Int qx_##name##_neon parameters; \
    using name##_type = qx::Int(*) parameters;      \
    inline constexpr name##_type name##_sets[] = {qx_##name##_neon}
#endif

namespace qx {

// Calls test(kernel) for each kernel that runs here, the one of the oldest set first.
template <class Kernel, std::size_t size, class Test>
void each_set(const Kernel (&kernels)[size], Test test) {
    const std::size_t runs = size == 1 ? 1 : static_cast<std::size_t>(qx_level()) - 1;
    for (std::size_t k = 0; k < runs; ++k) test(kernels[k]);
}

}  // namespace qx
