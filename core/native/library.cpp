// What the library is: the digest of its sources, and the instruction set that this processor has.

#include "base/export.hpp"
#include "thresholds/table.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define QX_TEXT_(words) #words
#define QX_TEXT(words) QX_TEXT_(words)

// QX_DIGEST: the digest of the sources, as qsim_ex.native.library computes it.
extern "C" __attribute__((visibility("default"))) const char* qx_digest() { return QX_TEXT(QX_DIGEST); }

// Returns the rows of exports.def as lines: sort, name, arguments, and what memory is for; the last two may be empty.
extern "C" __attribute__((visibility("default"))) const char* qx_exports() {
    return
#define QX_FUNCTION(name, kinds, ...) "function " #name " " #kinds " " __VA_ARGS__ "\n"
#define QX_OBJECTS(name, kinds, ...) "objects " #name " " #kinds " " __VA_ARGS__ "\n"
#define QX_KERNEL(name, kinds, ...) "kernel " #name " " #kinds " " __VA_ARGS__ "\n"
#include "exports.def"
        ;
}

namespace {

#if defined(__x86_64__)
// The system saves registers that it knows of: without that the processor's vectors cannot be used.
qx::Int saved_registers() {
    unsigned low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return static_cast<qx::Int>(high) << 32 | low;
}
#endif

}  // namespace

// Returns the level of x86-64 whose instructions this processor and its system have, as the psABI numbers them: 4
// (AVX-512), 3 (AVX2 and FMA), 2 for all others; 0 on other architectures.
QX_EXPORT(level, ()) {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 2;
    constexpr unsigned fma = 1u << 12, movbe = 1u << 22, osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29;
    if ((c & (fma | movbe | osxsave | avx | f16c)) != (fma | movbe | osxsave | avx | f16c)) return 2;
    if ((saved_registers() & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 2;
    constexpr unsigned avx2 = 1u << 5, bmi1 = 1u << 3, bmi2 = 1u << 8;
    if ((b & (avx2 | bmi1 | bmi2)) != (avx2 | bmi1 | bmi2)) return 2;
    constexpr unsigned f = 1u << 16, dq = 1u << 17, cd = 1u << 28, bw = 1u << 30, vl = 1u << 31;
    bool wide = (b & (f | dq | cd | bw | vl)) == (f | dq | cd | bw | vl) && (saved_registers() & 0xe6) == 0xe6;
    return wide ? 4 : 3;
#else
    return 0;
#endif
}

// Takes all numbers, in the order of `Native` in qsim_ex.native.thresholds.
QX_EXPORT(thresholds_set, (const qx::Int* numbers)) {
#define QX_ROW(name) qx::thresholds.name = *numbers++;
    QX_THRESHOLDS(QX_ROW)
#undef QX_ROW
    return 0;
}

// Gives the sides on which each number was met since the last call, as bits: 1 within, 2 beyond.
QX_EXPORT(thresholds_met, (unsigned char* sides)) {
#define QX_ROW(name) *sides++ = qx::thresholds.name.sides(), qx::thresholds.name.forget();
    QX_THRESHOLDS(QX_ROW)
#undef QX_ROW
    return 0;
}
