// Dense blocks in a form that takes fewer multiply-adds.

#include "planner/blocks/turned.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/encoding.hpp"
#include "planner/form/gates/weyl.hpp"

namespace qx::plan {

namespace {

using form::Complex;
using form::Turn;
using form::Weyl;

constexpr double half_turn = 3.14159265358979323846;
constexpr double steepest = 1024;    // the largest tangent
constexpr double flat = 4;           // a tangent that is small enough for no other choice to be looked at
constexpr double near_size = 2;      // likewise log2 of what both bits of a block leave larger or smaller
constexpr double most_scaled = 40;   // log2 of what bits leave amplitudes larger or smaller by, all together
constexpr double not_unitary = 1e-9;

struct Small {
    Complex at[2][2];
};

Small matrix_of(const Turn& turn) {
    const auto [x, y, z] = turn.v;
    return {{{Complex(turn.w, -z), Complex(-y, -x)}, {Complex(y, -x), Complex(turn.w, z)}}};
}

Small product(const Small& a, const Small& b) {
    Small out{};
    for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 2; ++c) out.at[r][c] = a.at[r][0] * b.at[0][c] + a.at[r][1] * b.at[1][c];
    return out;
}

Small diagonal(Complex first, Complex second) { return {{{first, 0}, {0, second}}}; }
Small about_z(double angle) { return diagonal(std::polar(1.0, -angle / 2), std::polar(1.0, angle / 2)); }

// Multiplies a matrix [4, 4] by one of a bit, before it or behind it.
void multiply(Complex* matrix, const Small& by, int bit, bool before) {
    const int row = before ? 1 : 4, column = before ? 4 : 1;  // strides: of the index that changes, and of the other one
    for (int k = 0; k < 4; ++k)
        for (int other = 0; other < 2; ++other) {
            Complex& low = matrix[(other << (1 - bit)) * row + k * column];
            Complex& high = matrix[((other << (1 - bit)) | 1 << bit) * row + k * column];
            const Complex a = low, b = high;
            if (before) low = a * by.at[0][0] + b * by.at[1][0], high = a * by.at[0][1] + b * by.at[1][1];
            else low = by.at[0][0] * a + by.at[0][1] * b, high = by.at[1][0] * a + by.at[1][1] * b;
        }
}

bool is_unitary(const Complex* matrix) {
    for (int a = 0; a < 4; ++a)
        for (int b = 0; b < 4; ++b) {
            Complex sum = a == b ? -1 : 0;
            for (int k = 0; k < 4; ++k) sum += std::conj(matrix[4 * k + a]) * matrix[4 * k + b];
            if (!(std::abs(sum) < not_unitary)) return false;
        }
    return true;
}

// A block as (after) exp(i (a XX + b YY + c ZZ)) (Rz(last) Ry(2 atan(tangent)) Rz(first)), times a phase.
struct Factors {
    bool turned = false;
    double first[2] = {}, last[2] = {}, tangent[2] = {};
    std::array<double, 3> angles{};
    double phase = 0;
    Turn after[2];

    Factors() {}
    // axis: which of X, Y and Z becomes Z. Angles of more than a quarter turn are made less by turns.
    Factors(const Weyl& weyl, int axis) : turned(true), angles(weyl.angles), phase(weyl.phase) {
        const Turn cycle{0.5, {0.5, 0.5, 0.5}}, x{0, {1, 0, 0}}, y{0, {0, 1, 0}};  // X to Y to Z to X; half turns
        Turn before[2] = {weyl.before[0], weyl.before[1]};
        std::copy(weyl.after, weyl.after + 2, after);
        for (int k = 2; k > axis; --k) {
            angles = {angles[2], angles[0], angles[1]};
            for (int bit = 0; bit < 2; ++bit) before[bit] = cycle * before[bit], after[bit] = after[bit] * cycle.inverse();
        }
        for (int bit = 0; bit < 2; ++bit) {
            const auto [p, q, r] = before[bit].v;
            if (std::hypot(p, q) <= std::hypot(before[bit].w, r)) continue;
            before[bit] = y * before[bit], after[bit] = after[bit] * y.inverse();
            angles[0] = -angles[0], angles[2] = -angles[2];
        }
        if (std::fabs(std::tan(angles[0] - angles[1]) * std::tan(angles[0] + angles[1])) > 1) {
            angles[0] -= half_turn / 2, phase -= half_turn / 2;
            for (int bit = 0; bit < 2; ++bit) after[bit] = after[bit] * x;
        }
        for (int bit = 0; bit < 2; ++bit) {
            const auto [p, q, r] = before[bit].v;
            const double sum = std::atan2(r, before[bit].w), difference = std::atan2(-p, q);
            first[bit] = sum - difference, last[bit] = sum + difference;
            tangent[bit] = std::hypot(p, q) / std::hypot(before[bit].w, r);
        }
    }

    // The phase of a value of the bits.
    double phase_of(int value) const {
        const double low = value & 1 ? last[0] : -last[0], high = value & 2 ? last[1] : -last[1];
        return (low + high) / 2 + (value == 0 || value == 3 ? angles[2] : -angles[2]);
    }

    // The largest tangent, of the best row to compare phases with.
    double steepness() const {
        const auto steep = [](double angle) { return std::fabs(std::tan(angle)); };
        double best = std::numeric_limits<double>::infinity();
        for (int flips = 0; flips < 4; ++flips) {
            double most = 0;
            for (int row = 1; row < 4; ++row) most = std::fmax(most, steep(phase_of(row ^ flips) - phase_of(flips)));
            best = std::fmin(best, most);
        }
        for (double angle : {angles[0] - angles[1], angles[0] + angles[1], first[0], first[1]})
            best = std::fmax(best, steep(angle));
        return best;
    }

    static Factors best(const Complex* matrix) {
        const Weyl weyl(matrix);
        Factors found(weyl, 2);
        double least = found.steepness();
        for (int axis = 0; axis < 2 && !(least < flat); ++axis) {
            const Factors other(weyl, axis);
            if (const double steepness = other.steepness(); steepness < least) found = other, least = steepness;
        }
        return found;
    }
};

// What a block leaves: the last one of its factors turns, and by how much each bit's 1 is larger than it is.
struct BlockState {
    Factors factors;
    double larger[2] = {1, 1};
};

// The numbers of a block in its form, while they are found.
class Attempt {
  public:
    // larger: as bits come. behind: the angles about Z that the next blocks leave to this one.
    Attempt(const Factors& factors, const double* larger, const double* behind, int flips) {
        made.flips = flips;
        for (int row = 0; row < 4; ++row) size_[row] = (row & 1 ? larger[0] : 1) * (row & 2 ? larger[1] : 1);
        for (int bit = 0; bit < 2; ++bit) turn(factors.tangent[bit], larger[bit], bit, flips >> bit & 1);
        for (int row = 1; row < 4; ++row)
            made.number[3 + row] = tangent(factors.phase_of(row ^ flips) - factors.phase_of(flips), row ^ flips);
        scale_ *= std::polar(1.0, factors.phase_of(flips) + factors.phase);
        pairs(factors, flips);
        const auto angle = [&](int value) { return (value & 1 ? behind[0] : 0) + (value & 2 ? behind[1] : 0); };
        for (int row = 1; row < 3; ++row) made.number[10 + row] = tangent(angle(row ^ flips) - angle(flips), row ^ flips);
        double& last = size_[3 ^ flips];
        const double wanted = size_[1 ^ flips] * size_[2 ^ flips] / size_[flips];
        const Complex factor = wanted / last * std::polar(1.0, angle(3 ^ flips) - angle(flips));
        made.number[13] = factor.real(), made.number[14] = factor.imag();
        last = wanted;
        scale_ *= std::polar(1.0, angle(flips) - (behind[0] + behind[1]) / 2) / size_[0];
        left[0] = size_[1] / size_[0], left[1] = size_[2] / size_[0];
        made.mark = std::numeric_limits<double>::infinity();
        made.real = scale_.real(), made.imag = scale_.imag();
    }

    // log2 of how far bits are from their sizes.
    double scaled() const { return std::fabs(std::log2(std::fabs(left[0]))) + std::fabs(std::log2(std::fabs(left[1]))); }

    TurnedBlock made{};
    double left[2];
    bool good = true;

  private:
    // A rotation about Y of a bit whose 1 is larger than it is.
    void turn(double by, double larger, int bit, bool flipped) {
        double* to = made.number + 2 * bit;
        to[0] = by / larger, to[1] = by * larger;
        if (flipped) std::swap(to[0], to[1]), to[0] = -to[0], to[1] = -to[1];
        scale_ /= std::sqrt(1 + by * by);
    }
    double tangent(double angle, int value) {
        const double c = std::cos(angle), t = std::sin(angle) / c;
        good = good && std::fabs(t) < steepest;
        size_[value] /= c;
        return t;
    }
    // exp(i (a XX + b YY)): rotations by a - b of values 0 and 3, and by a + b of 1 and 2.
    void pairs(const Factors& factors, int flips) {
        const bool alike = flips == 0 || flips == 3;
        const double difference = factors.angles[0] - factors.angles[1], sum = factors.angles[0] + factors.angles[1];
        const double outer = alike ? difference : sum, inner = alike ? sum : difference;
        const auto pair = [&](double angle, int a, int b, double* to) {
            const double t = std::tan(angle), ratio = size_[a ^ flips] / size_[b ^ flips];
            good = good && std::fabs(t) < steepest;
            to[0] = t * ratio, to[1] = t / ratio;
        };
        pair(outer, 0, 3, made.number + 7), pair(inner, 1, 2, made.number + 9);
        for (int row : {1, 2}) size_[row ^ flips] *= std::cos(outer) / std::cos(inner);
        scale_ *= std::cos(outer);
    }

    double size_[4];  // of each value, how much larger its amplitude is than it should be
    Complex scale_ = 1;
};

// Finds the numbers of all blocks.
class BlockTurner {
  public:
    BlockTurner(const std::vector<LinkedBlock>& blocks, Complex* packed)
        : blocks_(blocks), packed_(packed), states_(blocks.size()) {}

    Int run() {
        for (std::size_t k = 0; k < blocks_.size(); ++k)
            if (blocks_[k].is_between()) factorise(k);
        Int count = 0;
        for (std::size_t k = 0; k < blocks_.size(); ++k) count += write(k);
        return count;
    }

  private:
    Complex* matrix(std::size_t k) const { return packed_ + blocks_[k].slot; }
    BlockState* before(std::size_t k, int bit) {
        const Int end = blocks_[k].before[bit];
        return end < 0 ? nullptr : &states_[static_cast<std::size_t>(end / 2)];
    }

    // Takes a block apart, with the turns that the blocks before it leave.
    void factorise(std::size_t k) {
        Complex with[16];
        std::copy_n(matrix(k), 16, with);
        for (int bit = 0; bit < 2; ++bit)
            multiply(with, matrix_of(before(k, bit)->factors.after[blocks_[k].before[bit] % 2]), bit, true);
        if (is_unitary(with)) states_[k].factors = Factors::best(with);
    }

    // Writes the numbers of a block; returns whether they are in its form.
    bool write(std::size_t k) {
        BlockState& own = states_[k];
        double larger[2] = {1, 1}, behind[2] = {};
        for (int bit = 0; bit < 2; ++bit) {
            if (const BlockState* from = before(k, bit)) larger[bit] = from->larger[blocks_[k].before[bit] % 2];
            const Int next = blocks_[k].after[bit];
            if (next >= 0) behind[bit] = states_[static_cast<std::size_t>(next / 2)].factors.first[next % 2];
            scaled_ -= std::fabs(std::log2(std::fabs(larger[bit])));
        }
        if (own.factors.turned) {
            Attempt best(own.factors, larger, behind, 0);
            for (int flips = 1; flips < 4 && !(best.good && best.scaled() < near_size); ++flips) {
                const Attempt other(own.factors, larger, behind, flips);
                if (other.good && !(best.good && best.scaled() <= other.scaled())) best = other;
            }
            if (best.good && scaled_ + best.scaled() < most_scaled) {
                scaled_ += best.scaled();
                std::copy_n(best.left, 2, own.larger);
                static_assert(sizeof(TurnedBlock) <= 16 * sizeof(Complex));
                *reinterpret_cast<TurnedBlock*>(matrix(k)) = best.made;
                return true;
            }
        }
        write_matrix(k, larger, behind);
        return false;
    }

    // Writes a block as a matrix, with what others leave to it.
    void write_matrix(std::size_t k, const double* larger, const double* behind) {
        const Factors& own = states_[k].factors;
        for (int bit = 0; bit < 2; ++bit) {
            if (const BlockState* from = before(k, bit)) {
                const Small turned = matrix_of(from->factors.after[blocks_[k].before[bit] % 2]);
                const Small scaled = product(about_z(-own.first[bit]), diagonal(1, 1 / larger[bit]));
                multiply(matrix(k), product(turned, scaled), bit, true);
            }
            multiply(matrix(k), product(about_z(behind[bit]), matrix_of(own.after[bit].inverse())), bit, false);
        }
    }

    const std::vector<LinkedBlock>& blocks_;
    Complex* packed_;
    std::vector<BlockState> states_;
    double scaled_ = 0;  // log2 of how far all bits are from their sizes
};

}  // namespace

Int turn_blocks(const std::vector<LinkedBlock>& blocks, std::complex<double>* packed) {
    return BlockTurner(blocks, packed).run();
}

}  // namespace qx::plan
