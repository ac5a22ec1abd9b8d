// Numbers too small for a full mantissa are taken for 0, as long as an object of this class lives, in its thread.
//
// Where amplitudes cancel, rounding errors are left, and where these cancel again, errors of errors: after some layers of
// Clifford gates they are subnormal, and each operation on such a number takes a processor a hundred times as long
// (decision 0035).
#pragma once

#include <cstdint>

namespace qx {

class FlushSubnormals {
  public:
    FlushSubnormals() : before_(read()) { write(before_ | flags); }
    ~FlushSubnormals() { write(before_); }
    FlushSubnormals(const FlushSubnormals&) = delete;
    FlushSubnormals& operator=(const FlushSubnormals&) = delete;

  private:
#if defined(__x86_64__)
    using Word = std::uint32_t;
    static constexpr Word flags = 0x8040;  // of results, and of operands
    static Word read() { return __builtin_ia32_stmxcsr(); }
    static void write(Word word) { __builtin_ia32_ldmxcsr(word); }
#elif defined(__aarch64__)
    using Word = std::uint64_t;
    static constexpr Word flags = Word{1} << 24;
    static Word read() {
        Word word;
        __asm__ volatile("mrs %0, fpcr" : "=r"(word));
        return word;
    }
    static void write(Word word) { __asm__ volatile("msr fpcr, %0" : : "r"(word)); }
#else
    using Word = int;
    static constexpr Word flags = 0;
    static Word read() { return 0; }
    static void write(Word) {}
#endif

    Word before_;
};

}  // namespace qx
