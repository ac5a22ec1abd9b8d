// Tests of what is read of matrices and of keys of gates, against their definitions.

#include <doctest.h>

#include <complex>
#include <random>
#include <vector>

#include "readers/read_gates.hpp"

using qx::Int;
using Matrix = std::vector<std::complex<double>>;

extern "C" Int qx_matrices_classify(const void* matrices, Int count, Int size, double tolerance, double modulus, Int zero,
                                    Int other, std::uint8_t* classes, std::uint8_t* kinds);
extern "C" Int qx_keys_moved(const std::uint64_t* keys, Int count, const Int* to, std::uint64_t* out);

namespace {

enum Kind : std::uint8_t { wrong, general, diagonal };

Kind kind_of(const Matrix& matrix, Int size, double tolerance, std::vector<std::uint8_t>* classes = nullptr) {
    std::vector<std::uint8_t> found(matrix.size());
    std::uint8_t kind = 9;
    qx_matrices_classify(matrix.data(), 1, size, tolerance, tolerance, 0, 5, found.data(), &kind);
    if (classes) *classes = found;
    return static_cast<Kind>(kind);
}

}  // namespace

TEST_CASE("a matrix is general or diagonal if it is unitary, and wrong beyond the tolerance") {
    const double root = std::sqrt(0.5);
    CHECK(kind_of({1, 0, 0, {0, 1}}, 2, 1e-8) == diagonal);
    CHECK(kind_of({0, 1, 1, 0}, 2, 1e-8) == general);
    CHECK(kind_of({root, root, root, -root}, 2, 1e-8) == general);
    CHECK(kind_of({root, root, root, root}, 2, 1e-8) == wrong);
    CHECK(kind_of({1, 0, 0, 1.001}, 2, 1e-8) == wrong);
    CHECK(kind_of({1, 0, 0, 1.001}, 2, 1e-2) == diagonal);
    CHECK(kind_of({1, 1e-3, 0, 1}, 2, 1e-8) == wrong);
    CHECK(kind_of({1, 0, 0, std::nan("")}, 2, 1e-2) == wrong);
}

TEST_CASE("entries that are exactly 0 are told from all others") {
    std::vector<std::uint8_t> classes;
    kind_of({0.0, {0, 1e-300}, 1.0, -0.0}, 2, 1, &classes);
    CHECK(classes == std::vector<std::uint8_t>{0, 5, 5, 0});
}

TEST_CASE("products of rotations of four rows are unitary until one entry changes") {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> angle(0, 6.28);
    for (int run = 0; run < 50; ++run) {
        Matrix matrix(16);
        for (std::size_t k = 0; k < 4; ++k) matrix[5 * k] = std::polar(1.0, angle(random));
        for (int turn = 0; turn < 6; ++turn) {  // rows i and j
            const std::size_t i = random() % 4, j = (i + 1 + random() % 3) % 4;
            const double by = angle(random);
            for (std::size_t column = 0; column < 4; ++column) {
                const auto a = matrix[4 * i + column], b = matrix[4 * j + column];
                matrix[4 * i + column] = std::cos(by) * a - std::sin(by) * b;
                matrix[4 * j + column] = std::sin(by) * a + std::cos(by) * b;
            }
        }
        CHECK(kind_of(matrix, 4, 1e-8) == general);
        matrix[random() % 16] += std::complex<double>(1e-3, 1e-3);
        CHECK(kind_of(matrix, 4, 1e-8) == wrong);
    }
}

TEST_CASE("keys get other wires at the same places, and keep their rows") {
    std::mt19937 random(2);
    std::vector<Int> to(100);
    for (Int& wire : to) wire = static_cast<Int>(random() % 16000);
    for (int run = 0; run < 100; ++run) {
        std::uint64_t key = random() & 255, expected = key, out = 0;
        for (Int place = 0; place < static_cast<Int>(random() % 5); ++place) {
            const std::size_t wire = random() % 100;
            key |= qx::on_wire(static_cast<qx::plan::Index>(wire), place);
            expected |= qx::on_wire(static_cast<qx::plan::Index>(to[wire]), place);
        }
        qx_keys_moved(&key, 1, to.data(), &out);
        CHECK(out == expected);
    }
}

TEST_CASE("a writer of gates numbers equal keys alike, and says where parameters begin") {
    qx::plan::Index numbers[6];
    std::uint64_t keys[6], other_wires[6];
    double parameters[6];
    Int starts[7], others[6], measured[6][3];
    qx::Arrays arrays{numbers, keys, parameters, starts, others, other_wires, measured, -1, -1, -1};
    qx::GateWriter writer(arrays);
    writer.parameter(0.5), writer.gate(7);
    writer.gate(9);
    writer.parameter(1.5), writer.parameter(2.5), writer.gate(7);
    writer.measurement(3, 4);
    writer.other(11);
    CHECK(arrays.num_keys == 2);
    CHECK(arrays.num_measured == 1);
    CHECK(arrays.num_others == 1);
    CHECK(keys[0] == 7);
    CHECK(keys[1] == 9);
    CHECK((numbers[0] == 0 && numbers[1] == 1 && numbers[2] == 0));
    CHECK(numbers[3] == ~qx::plan::Index{0});
    CHECK((starts[0] == 0 && starts[1] == 1 && starts[2] == 1 && starts[3] == 3 && starts[4] == 3 && starts[5] == 3));
    CHECK((measured[0][0] == 3 && measured[0][1] == 3 && measured[0][2] == 4));
    CHECK((others[0] == 4 && other_wires[0] == 11));
    CHECK(qx::is_finite(1e308));
    CHECK_FALSE(qx::is_finite(1e308 * 10));
}
