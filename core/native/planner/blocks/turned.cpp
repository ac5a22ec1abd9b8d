// Dense blocks in a form that takes fewer multiply-adds.

#include "planner/blocks/turned.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "planner/blocks/factors.hpp"

namespace qx::plan {

namespace {

constexpr double near_size = 1;     // log2 of what bits may be larger or smaller by before other choices are looked at
constexpr double most_scaled = 40;  // log2 of what bits leave amplitudes larger by, all together; or smaller

// How far amplitudes are from their sizes by what bits leave: log2 of the largest one, and of the smallest.
struct Scaled {
    double up = 0, down = 0;

    void add(double larger, int sign) {
        const double log = std::log2(std::fabs(larger));
        (log > 0 ? up : down) += sign * std::fabs(log);
    }
    bool is_too_much() const { return !(std::fmax(up, down) < most_scaled); }
};

// What a block leaves: matrices on its bits to those before it, and how much larger than it is each bit's 1 is behind it.
// ahead: log2 of how much larger bits get from this block on.
struct BlockState {
    std::unique_ptr<const Factors<2>> two;
    std::unique_ptr<const Factors<3>> three;
    double ahead[3] = {}, larger[3] = {1, 1, 1};

    const Small* before(int bit) const { return two ? two->before + bit : three ? three->before + bit : nullptr; }
};

// The numbers of a block in its form, while they are found.
template <int bits>
class Numbers {
    using Form = TurnedBlock<bits>;

  public:
    // larger: as bits come.
    Numbers(const Factors<bits>& factors, const double* larger, bool whole) {
        made.mark = std::numeric_limits<double>::infinity();
        made.flips = factors.flips, made.whole = whole;
        for (int row = 0; row < Form::size; ++row) {
            size_[row] = 1;
            for (int bit = 0; bit < bits; ++bit) size_[row] *= row >> bit & 1 ? larger[bit] : 1;
        }
        double* to = made.number;
        for (int k = 0; k < Form::rotations; ++k) {
            const auto [a, b, with_phase] = Form::order.at[k];
            if (with_phase) *to++ = std::tan(factors.phase[k]), size_[b] /= std::cos(factors.phase[k]);
            const double t = factors.tangent[k], ratio = size_[a] / size_[b], longer = std::sqrt(1 + t * t);
            *to++ = t * ratio, *to++ = t / ratio;
            size_[a] *= longer, size_[b] *= longer;
        }
        for (int row = 1; row < Form::size; ++row) {
            const Complex phase = factors.ends[row] / factors.ends[0];
            if (Form::is_scaled(row, whole)) {
                const double wanted = whole ? size_[0] : size_[1] * size_[2] / size_[0];
                *to++ = phase.real() * wanted / size_[row], *to++ = phase.imag() * wanted / size_[row];
                size_[row] = wanted;
            } else {
                *to++ = 1, *to++ = phase.imag() / phase.real();
                size_[row] /= phase.real();
            }
        }
        for (int bit = 0; bit < bits; ++bit) left[bit] = size_[factors.flips ^ 1 << bit] / size_[factors.flips];
        const Complex scale = factors.ends[0] / size_[factors.flips];
        made.real = scale.real(), made.imag = scale.imag();
    }

    TurnedBlock<bits> made{};
    double left[bits];

  private:
    double size_[Form::size];  // of each row, how much larger its amplitude is than it should be
};

// Finds the numbers of all blocks: first what they leave to those before them, from the last one on, then sizes.
class BlockTurner {
  public:
    BlockTurner(const std::vector<LinkedBlock>& blocks, Complex* packed)
        : blocks_(blocks), packed_(packed), states_(blocks.size()) {}

    Int run() {
        for (std::size_t k = blocks_.size(); k-- > 0;) factorise(k);
        Int count = 0;
        for (std::size_t k = 0; k < blocks_.size(); ++k) count += write(k);
        return count;
    }

  private:
    Complex* matrix(std::size_t k) const { return packed_ + blocks_[k].slot; }
    BlockState* at(Int end) { return end < 0 ? nullptr : &states_[static_cast<std::size_t>(end / LinkedBlock::most)]; }
    static int bit_of(Int end) { return static_cast<int>(end % LinkedBlock::most); }

    // Multiplies a block by what those behind it leave, and takes it apart.
    void factorise(std::size_t k) {
        const LinkedBlock& block = blocks_[k];
        for (int bit = 0; bit < block.bits; ++bit) {
            const BlockState* next = at(block.after[bit]);
            const Small* left = next ? next->before(bit_of(block.after[bit])) : nullptr;
            if (left) multiply(matrix(k), 1 << block.bits, *left, bit, false);
        }
        if (!block.may_be_turned() || !is_unitary(matrix(k), 1 << block.bits)) return;
        if (block.bits == 2) take<2>(k, states_[k].two);
        else take<3>(k, states_[k].three);
    }

    // Takes a block apart such that bits stay near their sizes, which matters on two bits alone.
    template <int bits>
    void take(std::size_t k, std::unique_ptr<const Factors<bits>>& to) {
        double least = std::numeric_limits<double>::infinity();
        for (int flips = 0; flips < 1 << bits && !(least < near_size); ++flips) {
            auto found = std::make_unique<const Factors<bits>>(matrix(k), flips);
            if (!found->good) continue;
            double ahead[bits] = {}, all = 0;
            for (int bit = 0; bit < bits && !blocks_[k].is_whole(); ++bit) {
                ahead[bit] = at(blocks_[k].after[bit])->ahead[bit_of(blocks_[k].after[bit])] + found->larger(bit);
                all += std::fabs(ahead[bit]);
            }
            if (!(all < least)) continue;
            least = all, to = std::move(found);
            std::copy_n(ahead, bits, states_[k].ahead);
        }
    }

    // Writes the numbers of a block; returns whether they are in its form.
    bool write(std::size_t k) {
        const LinkedBlock& block = blocks_[k];
        const BlockState& own = states_[k];
        double larger[3] = {1, 1, 1};
        for (int bit = 0; bit < block.bits; ++bit) {
            if (const BlockState* from = at(block.before[bit])) larger[bit] = from->larger[bit_of(block.before[bit])];
            scaled_.add(larger[bit], -1);
        }
        if (own.two) return write(k, *own.two, larger), true;
        if (own.three) return write(k, *own.three, larger), true;
        for (int bit = 0; bit < block.bits; ++bit)
            multiply(matrix(k), 1 << block.bits, Small{{{1, 0}, {0, 1 / larger[bit]}}}, bit, true);
        return false;
    }

    template <int bits>
    void write(std::size_t k, const Factors<bits>& factors, const double* larger) {
        Numbers<bits> found(factors, larger, blocks_[k].is_whole());
        Scaled scaled = scaled_;
        for (double left : found.left) scaled.add(left, 1);
        if (scaled.is_too_much()) found = Numbers<bits>(factors, larger, true);
        else scaled_ = scaled;
        std::copy_n(found.left, bits, states_[k].larger);
        static_assert(sizeof(TurnedBlock<bits>) <= (sizeof(Complex) << 2 * bits));
        *reinterpret_cast<TurnedBlock<bits>*>(matrix(k)) = found.made;
    }

    const std::vector<LinkedBlock>& blocks_;
    Complex* packed_;
    std::vector<BlockState> states_;
    Scaled scaled_;
};

}  // namespace

Int turn_blocks(const std::vector<LinkedBlock>& blocks, std::complex<double>* packed) {
    return BlockTurner(blocks, packed).run();
}

}  // namespace qx::plan
