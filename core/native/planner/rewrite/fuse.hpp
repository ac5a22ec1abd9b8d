// Merging neighbours where that lowers the number of multiply-adds.
//
// Two pieces of work are neighbours when nothing between them touches their bits. A piece whose bits all lie within its
// neighbour's is multiplied into it if the product, judged by its pattern, costs no more than the two: RZ·SX·RZ becomes
// one matrix, an RY beside an RZ stays (a real matrix and a phase are cheaper than a complex one).
#pragma once

#include "planner/coefficients/program.hpp"
#include "planner/rewrite/trial.hpp"
#include "planner/rules.hpp"

namespace qx::plan {

// The cost of a phase beside other work: less than its multiplication, since phases merge into tables.
constexpr double table_work = 1.5;

// Multiply-adds per amplitude, by pattern; a condition counts the share of amplitudes where it holds.
double work_of(const Piece& piece, PlanContext& context);

// The joined labels of pieces that became one, the latest first, as in a product of matrices.
Index joined_label(const std::vector<Index>& labels, PlanContext& context);

// The joined labels of two pieces; most pairs come again.
class JoinedLabels {
  public:
    Index of(Index first, Index then, PlanContext& context) {
        Index& known = known_[static_cast<std::uint64_t>(first) << 32 | then];
        if (known == Memo::none) known = joined_label({first, then}, context);
        return known;
    }

  private:
    Memo known_;
};

// Sets the order and the cost of each piece.
void number_pieces(std::vector<Piece>& work, PlanContext& context);

class Fuser {
  public:
    static constexpr int most_bits = 2;  // of a matrix that fusing makes: beyond, multiply-adds double with each bit

    // item_work: multiply-adds per amplitude that every piece costs beside its arithmetic. trials: those of the pieces.
    Fuser(PlanContext& context, CoefficientProgram& program, Trials& trials, double item_work, Rules rules)
        : context_(context), program_(program), trials_(trials), item_work_(item_work), rules_(rules), on_bit_(64) {}
    // Makes room for so many pieces, so that they are never copied; room that is not used takes no memory.
    void reserve(std::size_t pieces) { kept_.reserve(pieces); }

    void add(Piece piece);
    // Returns the work with neighbours merged.
    std::vector<Piece> finish();
    // Makes one matrix on some bits of pieces, the earliest first, if it costs at most so much. less: it has to cost less.
    bool product(const Piece* const* pieces, int number, Mask on, double most, bool less, Piece& out);
    static bool small(const Piece& piece) {
        return piece.in_a_sweep() && piece.touched && count(piece.touched) <= most_bits;
    }

  private:
    static constexpr int most_entries = 1 << 2 * most_bits;
    static constexpr Index none = ~Index{0};

    struct Bits {
        int bit[most_bits];
        int size;
        int local(int wanted) const { return bit[0] == wanted ? 0 : 1; }
        Mask local(Mask mask) const {
            Mask out = 0;
            for (int k = 0; k < size; ++k) out |= (mask >> bit[k] & 1) << k;
            return out;
        }
    };
    // An operation as one dense matrix. entry: 0 (the constant 0), 1 (the constant 1), or 2 + a number of its source.
    // form: the number of these entries among the context's; `none` where it is not known.
    struct Embedding {
        Index pattern, form;
        Index entry[most_entries];
    };

    bool dense(const Piece& piece) const {
        return piece.kind == Kind::mix && !piece.num_reads && !piece.when.mask && piece.num_mixed <= most_bits;
    }
    bool is_on(const Piece& piece, const Bits& bits) const;
    Bits bits_of(const Piece& piece) const;
    Embedding embed(const Piece& piece, Index pattern, const Bits& bits);
    Embedding embedding(const Piece& piece, Index pattern, const Bits& bits);
    Factor factor(const Piece& piece, const Embedding& made, Index size);
    Trial trial_of(const Piece& piece, const Bits& bits);
    bool try_numbers(const Piece* const* pieces, int number, const Bits& bits, Trial& out);
    bool merge(const Piece* const* pieces, int number, const Bits& bits, bool gain, Piece& out);
    bool multiply(const Piece* const* pieces, int number, const Bits& bits, double most, bool less, Piece& out);
    bool settle(Piece& piece);
    bool into_earlier(const Piece& piece, Index at);
    bool with_earlier(Piece& piece, const Index* tops, int num_tops);
    bool run(Piece& piece);
    bool on_top(const Piece& piece, Index at) const;
    void push(const Piece& piece);
    void pop(Index at);

    PlanContext& context_;
    CoefficientProgram& program_;
    Trials& trials_;
    double item_work_;
    Rules rules_;
    std::vector<Piece> kept_;
    std::vector<bool> gone_;
    std::vector<std::vector<Index>> on_bit_;  // for each bit the pieces that touch it, the latest last
    JoinedLabels labels_;
    Memo embeddings_;  // the numbers of those that come again and again
    std::vector<Embedding> known_, embedded_;
};

}  // namespace qx::plan
