// Tests of vectors of reals, against the same done number by number. They are those of the machine's least instruction set.

#define QX_SET of_tests
#include "base/vector.hpp"

#include <doctest.h>

#include <vector>

namespace {

using namespace qx::QX_SET;

template <class Real>
constexpr std::size_t width = static_cast<std::size_t>(lanes<Real>);

template <class Real>
Vector<Real> ascending(Real first) {
    Vector<Real> out{};
    for (int lane = 0; lane < lanes<Real>; ++lane) out[lane] = first + static_cast<Real>(lane);
    return out;
}

template <class Test>
void both(Test test) {
    test(float{}), test(double{});
}

template <class Real, int lane = 0, class Test>
void each_lane_bit(Test test) {
    if constexpr (lane < lane_bits<Real>) {
        test(std::integral_constant<int, lane>{});
        each_lane_bit<Real, lane + 1>(test);
    }
}

}  // namespace

TEST_CASE("a vector of each type fills a register, and a splat is one number in all lanes") {
    both([](auto real) {
        using Real = decltype(real);
        CHECK(lanes<Real> * sizeof(Real) == QX_VECTOR_BYTES);
        CHECK(lanes<Real> == (1 << lane_bits<Real>));
        const Vector<Real> made = splat<Real>(Real{2.5});
        for (int lane = 0; lane < lanes<Real>; ++lane) CHECK(Real{made[lane]} == Real{2.5});
    });
}

TEST_CASE("split takes real and imaginary parts out of amplitudes, and merge puts them back, aligned or not") {
    both([](auto real) {
        using Real = decltype(real);
        alignas(64) Real memory[2 * width<Real> + 1], back[2 * width<Real>];
        for (const std::size_t shift : {0u, 1u}) {
            for (std::size_t k = 0; k < 2 * width<Real>; ++k) memory[k + shift] = static_cast<Real>(k);
            Vector<Real> re, im;
            split<Real>(memory + shift, re, im);
            for (int lane = 0; lane < lanes<Real>; ++lane) {
                CHECK(Real{re[lane]} == static_cast<Real>(2 * lane));
                CHECK(Real{im[lane]} == static_cast<Real>(2 * lane + 1));
            }
            merge<Real>(re, im, back);
            for (std::size_t k = 0; k < 2 * width<Real>; ++k) CHECK(back[k] == static_cast<Real>(k));
            merge<Real, true>(im, re, back);
            after_streaming();
            for (std::size_t k = 0; k < 2 * width<Real>; ++k) CHECK(back[k] == static_cast<Real>(k ^ 1));
        }
    });
}

TEST_CASE("an exchange swaps a lane bit with the bit that tells two vectors apart") {
    both([](auto real) {
        using Real = decltype(real);
        each_lane_bit<Real>([](auto bit) {
            Vector<Real> low = ascending<Real>(0), high = ascending<Real>(static_cast<Real>(lanes<Real>));
            exchange<Real, bit>(low, high);
            for (int lane = 0; lane < lanes<Real>; ++lane) {
                // The number of an amplitude is its lane, and one more bit for the vector; both bits change places.
                const int is_odd = lane >> bit & 1, other = lane ^ 1 << bit;
                CHECK(Real{low[lane]} == static_cast<Real>(is_odd ? lanes<Real> + other : lane));
                CHECK(Real{high[lane]} == static_cast<Real>(is_odd ? lanes<Real> + lane : other));
            }
        });
    });
}

TEST_CASE("a vector that lies in memory in pieces is joined in their order") {
    both([](auto real) {
        using Real = decltype(real);
        constexpr std::size_t of_piece = least_piece / sizeof(Real), pieces = width<Real> / of_piece;
        std::vector<Real> memory(2 * width<Real>);
        const char* at[pieces];
        for (std::size_t k = 0; k < pieces; ++k) {
            Real* piece = memory.data() + 2 * of_piece * (pieces - 1 - k);  // the last one first, and with gaps
            at[k] = reinterpret_cast<const char*>(piece);
            for (std::size_t j = 0; j < of_piece; ++j) piece[j] = static_cast<Real>(k * of_piece + j);
        }
        const Vector<Real> made = joined<Real, lanes<Real>>(at);
        for (int lane = 0; lane < lanes<Real>; ++lane) CHECK(Real{made[lane]} == static_cast<Real>(lane));
    });
}
