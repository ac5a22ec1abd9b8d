// Dense blocks: the work of a register block on its register bits alone, as one matrix.

#include "planner/tiles/blocks.hpp"

#include <algorithm>
#include <utility>

#include "planner/rewrite/fuse.hpp"
#include "planner/rewrite/global_phase.hpp"

namespace qx::plan {

namespace {

constexpr int block_bits = 4;   // as in qsim_ex.steps.layout
constexpr int size = 1 << block_bits;
static_assert(size == BlockRow::width);
constexpr double parted = 4.0;  // multiply-adds that rearranging amplitudes costs, for work beside a block
constexpr double tabled = 0.5;  // the share of a diagonal's work that a block saves: outside it may share a table
constexpr double sent = 4.0;   // multiply-adds that a block has to save besides: it is a register block of its own

// Some work, and masks of the bits that it mixes and touches.
struct Part {
    PieceRefs work;
    Mask mixed = 0, touched = 0;

    // Tells whether a piece may not overtake this work.
    bool stops(const Piece& piece) const { return piece.mixed.units & touched || piece.touched & mixed; }
    void add(const Piece& piece) {
        work.push_back(&piece);
        mixed |= piece.mixed.units;
        touched |= piece.touched;
    }
    bool moves() const {
        for (const Piece* piece : work)
            if (piece->kind != Kind::diagonal) return true;
        return false;
    }
};

// The matrix of a block while pieces are multiplied into it, as rows of places in the coefficient buffer.
class Block {
  public:
    Block(Mask registers, PlanContext& context, CoefficientProgram& program) : context_(context), program_(program) {
        int k = 0;
        each(registers, [&](int bit) { at_[bit] = k++; });
        for (Index row = 0; row < size; ++row) rows_[row] = row;
    }

    void multiply(const Piece& piece) {
        const int inner = piece.size();
        Mask condition = local(piece.when.mask), value = local(piece.when.value);
        num_rows_ = 0;
        for (int row = 0; row < size; ++row) {
            if ((row & condition) != value) continue;
            int block = 0, here = 0;
            for (int k = 0; k < piece.num_reads; ++k) block |= (count(row & local(context_.reads(piece)[k])) & 1) << k;
            for (int k = 0; k < piece.num_mixed; ++k) here |= (row >> at_[context_.bit(piece, k)] & 1) << k;
            acted_[num_rows_++] = {block * inner + here, row};
        }
        std::sort(acted_, acted_ + num_rows_);
        if (piece.kind == Kind::permute) permute(piece);
        else product(piece, inner);
    }

    // Returns the places of the matrix.
    Places finish() {
        Places out{0, size * size, static_cast<Index>(context_.places.size())};
        for (Index row : rows_)
            for (Index column = 0; column < size; ++column) context_.places.push_back(BlockRow::place(row, column));
        return out;
    }

  private:
    Mask local(Mask mask) const {
        Mask out = 0;
        each(mask, [&](int bit) { out |= unit(at_[bit]); });
        return out;
    }

    void permute(const Piece& piece) {
        Index before[size];
        std::memcpy(before, rows_, sizeof before);
        const int many = num_rows_ / piece.size();
        for (int from = 0; from < piece.size(); ++from) {
            const Row* to = acted_ + static_cast<int>(context_.values[piece.to + static_cast<Index>(from)]) * many;
            for (int k = 0; k < many; ++k) rows_[to[k].second] = before[acted_[from * many + k].second];
        }
    }

    void product(const Piece& piece, int inner) {
        std::vector<Index> entries;  // of the blocks whose rows there are: a condition may decide what is read
        Index present = 0, matrix = static_cast<Index>(inner * inner);
        for (int k = 0; k < num_rows_; ++k) {
            int block = acted_[k].first / inner;
            if (k && acted_[k - 1].first / inner == block) continue;
            for (Index entry = 0; entry < matrix; ++entry) entries.push_back(2 + static_cast<Index>(block) * matrix + entry);
            ++present;
        }
        Factor left = context_.factor(piece.source, entries.data(), static_cast<Index>(entries.size()));
        Index at = static_cast<Index>(context_.listed.size());
        for (int k = 0; k < num_rows_; ++k) context_.listed.push_back(rows_[acted_[k].second]);
        const Index columns = static_cast<Index>(num_rows_ * size) / (present * static_cast<Index>(inner));
        ProductKind kind{1, ++level_, present, static_cast<Index>(inner), columns};
        Index made = program_.product(kind, left, {at, Factor::rows}).first;
        for (int k = 0; k < num_rows_; ++k) rows_[acted_[k].second] = BlockRow::at(made), made += size;
    }

    PlanContext& context_;
    CoefficientProgram& program_;
    int at_[64] = {};
    Index level_ = GlobalPhase::most_levels;
    Index rows_[size];
    // The rows that a piece acts on, each behind the number of its block and value, in the order of both; as many for each.
    using Row = std::pair<int, int>;
    Row acted_[size];
    int num_rows_ = 0;
};

}  // namespace

PieceRefs gathered(const PieceRefs& work, Mask registers, double block, double making, PlanContext& context,
                   CoefficientProgram& program, std::vector<std::unique_ptr<Piece>>& made) {
    Part before, inside, after;
    for (const Piece* piece : work) {
        bool free = !after.stops(*piece);
        if (free && !(piece->touched & ~registers)) inside.add(*piece);
        else if (free && !inside.stops(*piece)) before.add(*piece);
        else after.add(*piece);
    }
    double cost = block + making + sent + parted * (before.moves() + after.moves()), saved = 0;
    for (const Piece* piece : inside.work) saved += piece->work * (piece->kind == Kind::mix ? 1.0 : tabled);
    if (saved <= cost) return work;

    Block matrix(registers, context, program);
    std::vector<Index> labels;
    for (const Piece* piece : inside.work) {
        matrix.multiply(*piece);
        labels.push_back(piece->label);
    }
    Piece& whole = *made.emplace_back(std::make_unique<Piece>());
    whole.source = matrix.finish();
    char classes[size * size];
    std::memset(classes, complex_, sizeof classes);
    whole.pattern = context.patterns.of({classes, sizeof classes});
    whole.label = joined_label(labels, context);
    whole.order = inside.work[0]->order;
    whole.work = block;
    int bits[block_bits], k = 0;
    each(registers, [&](int bit) { bits[k++] = bit; });
    context.put(whole, bits, block_bits, nullptr, 0);
    before.work.push_back(&whole);
    before.work.insert(before.work.end(), after.work.begin(), after.work.end());
    return std::move(before.work);
}

}  // namespace qx::plan
