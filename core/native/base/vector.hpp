// Vectors of reals as clang knows them, written once for every width. A *row* is one vector of real parts followed by
// one of imaginary parts, in planar scratch memory; amplitudes in memory are interleaved and anywhere.
#pragma once

#include <cstring>
#include <utility>

#include "base/int.hpp"

#if defined(__AVX512F__)
#define QX_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define QX_VECTOR_BYTES 32
#else
#define QX_VECTOR_BYTES 16
#endif

// For functions whose arguments must be in registers, however long the loop is that they are a part of.
#define QX_INLINE inline __attribute__((always_inline))

namespace qx::QX_SET {

template <class Real, int size = QX_VECTOR_BYTES / sizeof(Real)>
struct VectorOf {
    static constexpr int lanes = size;
    typedef Real type __attribute__((vector_size(size * sizeof(Real))));
};

// A vector of this instruction set, of float or double.
template <class Real>
using Vector = typename VectorOf<Real>::type;

template <class Real>
constexpr int lanes = VectorOf<Real>::lanes;

constexpr int bits_of(int power) { return power > 1 ? 1 + bits_of(power / 2) : 0; }

template <class Real>
constexpr int lane_bits = bits_of(lanes<Real>);

// Whether there are 32 registers for vectors: room for the rows and the coefficients of two matrices at once.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr bool many_registers = true;
#else
constexpr bool many_registers = false;
#endif

// The vector at an aligned address.
template <class Real>
inline Vector<Real>& at(char* address) {
    return *reinterpret_cast<Vector<Real>*>(address);
}
template <class Real>
inline const Vector<Real>& at(const char* address) {
    return *reinterpret_cast<const Vector<Real>*>(address);
}

template <class Real>
inline Vector<Real> load(const void* address) {
    Vector<Real> value;
    std::memcpy(&value, address, sizeof(value));
    return value;
}

template <class Real>
inline void store(void* address, Vector<Real> value) {
    std::memcpy(address, &value, sizeof(value));
}

template <class Real>
inline Vector<Real> splat(Real value) {
    return value - Vector<Real>{};
}

// Writes a vector to an aligned address, past the caches: nothing is read for it. See `after_streaming`. Compilers other
// than clang have no such function for all vectors, and write through the caches.
template <class Real>
inline void stream(void* address, Vector<Real> value) {
#if defined(__clang__)
    __builtin_nontemporal_store(value, static_cast<Vector<Real>*>(address));
#else
    store<Real>(address, value);
#endif
}

// Lets other threads see what was streamed before they see anything that this thread writes from now on.
inline void after_streaming() {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

namespace detail {

template <class Real, std::size_t... lane>
inline void split(const void* memory, Vector<Real>& real, Vector<Real>& imag, std::index_sequence<lane...>) {
    Vector<Real> a = load<Real>(memory), b = load<Real>(static_cast<const char*>(memory) + sizeof(a));
    real = __builtin_shufflevector(a, b, (2 * lane)...);
    imag = __builtin_shufflevector(a, b, (2 * lane + 1)...);
}

template <class Real, bool streams, std::size_t... lane>
inline void merge(Vector<Real> real, Vector<Real> imag, void* memory, std::index_sequence<lane...>) {
    constexpr int n = lanes<Real>;
    Vector<Real> low = __builtin_shufflevector(real, imag, (lane / 2 + lane % 2 * n)...);
    Vector<Real> high = __builtin_shufflevector(real, imag, (n / 2 + lane / 2 + lane % 2 * n)...);
    void* second = static_cast<char*>(memory) + sizeof(real);
    if constexpr (streams) stream<Real>(memory, low), stream<Real>(second, high);
    else store<Real>(memory, low), store<Real>(second, high);
}

template <class Real, int bit, std::size_t... lane>
inline void exchange(Vector<Real>& low, Vector<Real>& high, std::index_sequence<lane...>) {
    constexpr std::size_t n = lanes<Real>;
    Vector<Real> a = low, b = high;
    low = __builtin_shufflevector(a, b, (lane & bit ? n + (lane ^ bit) : lane)...);
    high = __builtin_shufflevector(a, b, (lane & bit ? n + lane : lane ^ bit)...);
}

template <class Real, std::size_t... lane>
inline auto concatenated(typename VectorOf<Real, sizeof...(lane) / 2>::type low,
                         typename VectorOf<Real, sizeof...(lane) / 2>::type high, std::index_sequence<lane...>) {
    return __builtin_shufflevector(low, high, static_cast<int>(lane)...);
}

}  // namespace detail

// The least bytes of a vector that are loaded on their own, see `exchange_lanes`. Vectors of 64 bytes out of four pieces
// take 1.1 to 1.8 times as long as out of two.
constexpr int least_piece = QX_VECTOR_BYTES == 64 ? 32 : 16;

// Loads a vector of `size` reals that lie in memory in pieces of so many bytes.
template <class Real, int size, int piece_bytes = least_piece>
QX_INLINE typename VectorOf<Real, size>::type joined(const char* const* pieces) {
    if constexpr (size * sizeof(Real) == piece_bytes) {
        typename VectorOf<Real, size>::type value;
        std::memcpy(&value, *pieces, sizeof(value));
        return value;
    } else {
        const char* const* others = pieces + size * sizeof(Real) / 2 / piece_bytes;
        return detail::concatenated<Real>(joined<Real, size / 2, piece_bytes>(pieces),
                                          joined<Real, size / 2, piece_bytes>(others), std::make_index_sequence<size>());
    }
}

// Reads the interleaved amplitudes of one row.
template <class Real>
inline void split(const void* memory, Vector<Real>& real, Vector<Real>& imag) {
    detail::split<Real>(memory, real, imag, std::make_index_sequence<lanes<Real>>());
}

// Writes the amplitudes of one row, interleaved. streams: past the caches; then the address is aligned.
template <class Real, bool streams = false>
inline void merge(Vector<Real> real, Vector<Real> imag, void* memory) {
    detail::merge<Real, streams>(real, imag, memory, std::make_index_sequence<lanes<Real>>());
}

// Exchanges lane bit `lane` with the bit that selects one of two vectors.
template <class Real, int lane>
inline void exchange(Vector<Real>& low, Vector<Real>& high) {
    detail::exchange<Real, 1 << lane>(low, high, std::make_index_sequence<lanes<Real>>());
}

}  // namespace qx::QX_SET
