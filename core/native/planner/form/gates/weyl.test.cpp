// Tests of Weyl's decomposition, against products of rotations.

#include "planner/form/gates/weyl.hpp"

#include "planner/form/naive.test.hpp"

using namespace qx::form;
using namespace qx::form::naive;

namespace {

constexpr Pauli axes[] = {{1, 0}, {1, 1}, {0, 1}};

// Applies a turn of a wire: w - i (x X + y Y + z Z).
State turned(const Turn& turn, int wire, const State& to) {
    State out(to.size());
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const State one = applied(Pauli{axes[axis].x << wire, axes[axis].z << wire}, to);
        for (std::size_t k = 0; k < to.size(); ++k) out[k] -= Complex(0, turn.v[axis]) * one[k];
    }
    for (std::size_t k = 0; k < to.size(); ++k) out[k] += turn.w * to[k];
    return out;
}

double error(const Complex* matrix) {
    const Weyl weyl(matrix);
    double out = 0;
    for (std::size_t column = 0; column < 4; ++column) {
        State state(4);
        state[column] = std::polar(1.0, weyl.phase);
        for (int wire = 0; wire < 2; ++wire) state = turned(weyl.before[wire], wire, state);
        for (std::size_t axis = 0; axis < 3; ++axis)
            state = rotated({3 * axes[axis].x, 3 * axes[axis].z}, -2 * weyl.angles[axis], state);
        for (int wire = 0; wire < 2; ++wire) state = turned(weyl.after[wire], wire, state);
        for (std::size_t row = 0; row < 4; ++row) out = std::fmax(out, std::abs(state[row] - matrix[4 * row + column]));
    }
    return out;
}

}  // namespace

TEST_CASE("a matrix is its decomposition to 1e-14, also where its angles are equal, almost equal, or multiples of π/4") {
    Drawn drawn(1, 2);
    const double special[] = {0, 0.78539816339744830962, 1.57079632679489661923, -0.78539816339744830962, 0.3};
    for (int k = 0; k < 3000; ++k) {
        std::vector<std::pair<Pauli, double>> rotations;
        const auto locals = [&] {
            if (drawn.below(4))
                for (int wire = 0; wire < 2; ++wire)
                    for (const std::size_t axis : {2u, 0u, 2u})
                        rotations.push_back({{axes[axis].x << wire, axes[axis].z << wire},
                                             drawn.below(4) ? drawn.angle() : 2 * special[drawn.below(5)]});
        };
        locals();
        for (const Pauli& axis : axes)
            rotations.push_back({{3 * axis.x, 3 * axis.z},
                                 drawn.below(3) ? 2 * special[drawn.below(5)] + (drawn.below(2) ? 0 : 1e-9 * drawn.angle())
                                                : drawn.angle()});
        locals();
        const double phase = drawn.angle();
        Complex matrix[16];
        for (std::size_t column = 0; column < 4; ++column) {
            State state(4);
            state[column] = std::polar(1.0, phase);
            for (const auto& [pauli, angle] : rotations) state = rotated(pauli, angle, state);
            for (std::size_t row = 0; row < 4; ++row) matrix[4 * row + column] = state[row];
        }
        CHECK(error(matrix) < 1e-14);
    }
}

TEST_CASE("a matrix with one entry in each row is its decomposition, though its square is far from diagonal") {
    Drawn drawn(2, 2);
    for (int k = 0; k < 500; ++k) {
        std::size_t rows[] = {0, 1, 2, 3};
        for (std::size_t j = 3; j; --j) std::swap(rows[j], rows[drawn.below(j + 1)]);
        Complex matrix[16] = {};
        for (std::size_t row = 0; row < 4; ++row) matrix[4 * row + rows[row]] = std::polar(1.0, k % 2 ? drawn.angle() : 0);
        CHECK(error(matrix) < 1e-14);
    }
}
