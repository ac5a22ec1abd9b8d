// What the library shows to Python: functions with C names that take addresses, 64-bit integers and doubles.
//
// A kernel that depends on the width of vectors is compiled once for each instruction set; then QX_SET is the set's name
// and becomes the end of the function's name: qx_run_sweep_v3. qsim_ex.native.library picks the one for this processor.
#pragma once

#include <cstdint>

#define QX_JOIN_(a, b) a##_##b
#define QX_JOIN(a, b) QX_JOIN_(a, b)

// QX_EXPORT(name): the name of a function that exists once. QX_EXPORT_SET(name): of one that each set has.
#define QX_EXPORT(name) extern "C" __attribute__((visibility("default"))) qx::Int QX_JOIN(qx, name)
#ifdef QX_SET
#define QX_EXPORT_SET(name) extern "C" __attribute__((visibility("default"))) qx::Int QX_JOIN(QX_JOIN(qx, name), QX_SET)
#endif

namespace qx {
using Int = std::int64_t;
}
