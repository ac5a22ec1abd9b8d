// Tests of what patterns say, against matrices of numbers.

#include "planner/patterns.hpp"

#include <algorithm>

#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

constexpr char classes[] = {zero, one, minus_one, real, imag, complex_};

// A number of a class, of no special size.
Number some(char entry, double size) {
    switch (entry) {
        case zero: return 0;
        case one: return 1;
        case minus_one: return -1;
        case real: return size;
        case imag: return {0, size};
        default: return {size, 0.3};
    }
}

// Whether a class may be told of a number.
bool allows(char entry, Number number) {
    switch (entry) {
        case zero: return std::abs(number) < near_enough;
        case one: return std::abs(number - 1.0) < near_enough;
        case minus_one: return std::abs(number + 1.0) < near_enough;
        case real: return std::abs(number.imag()) < near_enough;
        case imag: return std::abs(number.real()) < near_enough;
        default: return true;
    }
}

}  // namespace

TEST_CASE("classes of products and sums allow the numbers, and are no wider than these need") {
    for (const char a : classes)
        for (const char b : classes) {
            const Number left = some(a, 0.7), right = some(b, 1.3);
            CHECK(allows(times(a, b), left * right));
            CHECK(allows(plus(a, b), left + right));
            CHECK((times(a, b) == complex_) == (a != zero && b != zero && (a == complex_ || b == complex_)));
            CHECK(times(a, b) == times(b, a));
            CHECK(plus(a, b) == plus(b, a));
        }
}

TEST_CASE("the pattern of a product allows every entry of the product") {
    std::mt19937 random(1);
    Patterns patterns;
    for (const int size : {2, 4})
        for (int run = 0; run < 50; ++run) {
            const std::size_t area = static_cast<std::size_t>(size * size);
            std::vector<char> left(area), right(area);
            State a(area), b(area);
            for (std::size_t k = 0; k < area; ++k) {
                left[k] = classes[random() % 6], right[k] = classes[random() % 6];
                a[k] = some(left[k], 0.5 + static_cast<double>(k)), b[k] = some(right[k], 1.5 + static_cast<double>(k));
            }
            const Index of = patterns.product(patterns.of({left.data(), area}), patterns.of({right.data(), area}), size);
            for (int i = 0; i < size; ++i)
                for (int j = 0; j < size; ++j) {
                    Number sum = 0;
                    for (int k = 0; k < size; ++k)
                        sum += a[static_cast<std::size_t>(i * size + k)] * b[static_cast<std::size_t>(k * size + j)];
                    CHECK(allows(patterns[of][static_cast<std::size_t>(i * size + j)], sum));
                }
        }
}

TEST_CASE("plain classes allow the numbers of those that are known") {
    Patterns patterns;
    for (int entry = zero; entry <= minus_three_eighths; ++entry) {
        const char kind = static_cast<char>(entry);
        const Index pattern = patterns.of({&kind, 1});
        const char plain = patterns[patterns.plain(pattern)][0], without = patterns[patterns.without_eighths(pattern)][0];
        CHECK(plain < entry_classes);
        CHECK(without < eighth);
        CHECK(allows(plain, value_of(kind, 0)));
        if (kind < eighth) CHECK(without == kind);
    }
}

TEST_CASE("a matrix of few entries costs less, and a row with one ±1 nothing") {
    Patterns patterns;
    auto work = [&](std::vector<char> of, int size) {
        return patterns.mix_work(patterns.of({of.data(), of.size()}), size, false);
    };
    CHECK(work({zero, one, one, zero}, 2) == 0);
    CHECK(work({minus_one, zero, zero, minus_one}, 2) == 0);
    CHECK(work({real, real, real, real}, 2) == 4);
    CHECK(work({complex_, complex_, complex_, complex_}, 2) == 8);
    CHECK(work({one, zero, zero, complex_}, 2) == 2);
    const std::vector<char> most{real,     zero,     zero,     complex_, zero, one,  zero, zero,
                                 complex_, complex_, complex_, zero,     zero, zero, real, real};
    CHECK(work(most, 4) == (2 + 4 + 0 + 12 + 4) / 4.0);
    CHECK(patterns.mix_work(patterns.of({most.data(), 16}), 4, true) == 16);
    auto chosen = [&](std::vector<char> of, Index looked_up) {
        return patterns.mix_work(patterns.of({of.data(), of.size()}), 2, false, looked_up);
    };
    const std::vector<char> some{one,  zero, zero, one,  real, zero, zero, real,    // the identity, or phases
                                 one,  zero, zero, one,  zero, one,  one,  zero,    // or X
                                 real, real, real, real, zero, imag, imag, zero};
    const std::vector<char> half(some.begin(), some.begin() + 8), x(some.begin() + 8, some.begin() + 16);
    CHECK(chosen(half, 0) == 1);
    CHECK(chosen(half, 1) == 2);
    CHECK(chosen(x, 1) == 0);
    CHECK(chosen({some.begin() + 16, some.end()}, 1) == 6);  // real on the diagonal, complex beside it
    CHECK(chosen({some.begin(), some.begin() + 16}, 1) == 1);
    CHECK(chosen({some.begin(), some.begin() + 16}, 2) == 2);  // phases or X are four real numbers
    auto phases = [&](std::vector<char> of, Index looked_up) {
        return patterns.diagonal_work(patterns.of({of.data(), of.size()}), looked_up);
    };
    CHECK(phases({one, one}, 0) == 0);
    CHECK(phases({one, complex_}, 0) == 2);
    CHECK(phases({complex_, complex_}, 0) == 4);
    CHECK(phases({one, one}, 1) == 0);
    CHECK(phases({one, imag}, 1) == 4);
    CHECK(phases({one, minus_one}, 1) == 2);
    CHECK(phases({one, one, one, complex_}, 1) == 2);
    CHECK(phases({one, one, one, complex_}, 3) == 4);
}

TEST_CASE("a permutation tells where each value moves to") {
    std::vector<Index> to{0, 1, 2, 3};
    Patterns patterns;
    do {
        std::vector<char> matrix(16, zero);
        for (Index from = 0; from < 4; ++from) matrix[to[from] * 4 + from] = one;
        CHECK(patterns.permutation(patterns.of({matrix.data(), 16}), 4) == to);
        matrix[to[2] * 4 + 2] = minus_one;
        CHECK(patterns.permutation(patterns.of({matrix.data(), 16}), 4).empty());
    } while (std::next_permutation(to.begin(), to.end()));
}

TEST_CASE("a matrix of zeros and ones in which two values meet, or one is lost, is no permutation") {
    Patterns patterns;
    for (const std::vector<char>& of : {std::vector<char>{one, zero, zero, zero},
                                        {zero, zero, zero, one},
                                        {one, one, zero, zero},
                                        {one, zero, one, zero},
                                        {one, one, one, one}})
        CHECK(patterns.permutation(patterns.of({of.data(), of.size()}), 2).empty());
}

TEST_CASE("affine finds exactly the permutations of values that permute and flip bits") {
    for (const int bits : {1, 2, 3}) {
        const Index size = Index{1} << bits;
        std::vector<Index> to(size);
        for (Index x = 0; x < size; ++x) to[x] = x;
        std::size_t found = 0;
        do {
            const Relabeling out = affine(to.data(), size);
            if (!out.found) continue;
            ++found;
            for (Index x = 0; x < size; ++x) {
                Index image = 0;
                for (int j = 0; j < bits; ++j) image |= (x >> out.source[static_cast<std::size_t>(j)] & 1) << j;
                CHECK((image ^ static_cast<Index>(out.flip)) == to[x]);
            }
        } while (std::next_permutation(to.begin(), to.end()));
        std::size_t all = std::size_t{1} << bits;  // bits! · 2^bits
        for (int k = 2; k <= bits; ++k) all *= static_cast<std::size_t>(k);
        CHECK(found == all);
    }
}

TEST_CASE("a relabelling with phases tells the column of each row, and is trivial without them") {
    Patterns patterns;
    const Relabeling& plain = patterns.relabeling(patterns.of({"\0\1\1\0", 4}), 2);
    CHECK(plain.found);
    CHECK(plain.trivial);
    CHECK(plain.flip == 1);
    const Relabeling& phases = patterns.relabeling(patterns.of({"\0\5\1\0\0\1\1\0", 8}), 2);
    CHECK(phases.found);
    CHECK_FALSE(phases.trivial);
    CHECK(phases.column == std::vector<Index>{1, 0});
    CHECK_FALSE(patterns.relabeling(patterns.of({"\0\1\1\0\1\0\0\1", 8}), 2).found);
    CHECK_FALSE(patterns.relabeling(patterns.of({"\3\3\3\3", 4}), 2).found);
}
