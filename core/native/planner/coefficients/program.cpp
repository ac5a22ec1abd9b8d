// The program that makes a plan's numbers: collecting it, and putting it in order.

#include "planner/coefficients/program.hpp"

#include <algorithm>

namespace qx::plan {

namespace {

// Numbers equal words in the order in which they come first.
class Distinct {
  public:
    explicit Distinct(std::size_t most) : bits_(most < 2 ? 1 : highest(2 * most - 1)), at_(std::size_t{2} << bits_) {}

    // Returns the number of a word, of `known` that were numbered so far; `known.size()` if it is new.
    std::size_t of(std::uint64_t word, const std::uint64_t* known, std::size_t count) {
        std::size_t at = word * 0x9e3779b97f4a7c15ull >> (63 - bits_);
        while (at_[at] && known[at_[at] - 1] != word) at = at + 1 == at_.size() ? 0 : at + 1;
        if (!at_[at]) at_[at] = static_cast<Index>(count + 1);
        return at_[at] - 1;
    }

  private:
    int bits_;
    std::vector<Index> at_;  // from 1 on
};

// Writes a program as rows with lists of places, where each number has a place of its own.
class Lister {
  public:
    Lister(const CoefficientProgram& program, const PlanContext& context, CoefficientArrays& out)
        : program_(program), context_(context), out_(out), operands_(static_cast<Index>(program.num_operands())),
          at_(operands_), made_(static_cast<std::size_t>(program.size() - program.num_operands())) {}

    // The place in the listed buffer of what stands at a place after all that was listed so far.
    Index place(Index place) const { return place < operands_ ? place : made_[place - operands_]; }

    // Lists some products: each kind's in a row, all of their left factors before all right ones.
    void products(std::size_t begin, std::size_t end) {
        const std::vector<Product>& all = program_.products();
        std::vector<Index> order;
        for (std::size_t k = begin; k < end; ++k) order.push_back(static_cast<Index>(k));
        std::sort(order.begin(), order.end(), [&](Index a, Index b) {
            ProductKind one = all[a].kind(), other = all[b].kind();
            return one != other ? one < other : a < b;
        });
        struct Row {
            Index number;
            std::size_t left, right;
        };
        std::vector<Row> rows(end - begin);  // where each product's number and places are to be
        std::size_t at = out_.places.size();
        for (std::size_t first = 0; first < order.size();) {
            std::size_t last = first;
            ProductKind kind = all[order[first]].kind();
            while (last < order.size() && all[order[last]].kind() == kind) ++last;
            std::size_t count = last - first;
            out_.program.push_back({Instruction::product, static_cast<Int>(count), kind.blocks, kind.size, kind.columns, 0,
                                    0, static_cast<Int>(at), 0});
            for (std::size_t k = 0; k < count; ++k) {
                rows[order[first + k] - begin] = {at_, at + k * kind.left(), at + count * kind.left() + k * kind.right()};
                at_ += kind.right();
            }
            at += count * (kind.left() + kind.right());
            first = last;
        }
        out_.places.resize(at);
        for (std::size_t k = begin; k < end; ++k) {  // in the order in which they were asked for: a place may be used again
            ProductKind kind = all[k].kind();
            const Row& row = rows[k - begin];
            write(all[k].left, kind.left(), out_.places.data() + row.left);
            write(all[k].right, kind.right(), out_.places.data() + row.right);
            put(all[k].start, row.number, kind.right());
        }
    }

    // Lists the Euler angles of rotations of one kind.
    void eulers(bool imaginary) {
        Instruction row{Instruction::euler, 0, imaginary, 0, 0, 0, 0, static_cast<Int>(out_.places.size()), 0};
        for (const Euler& euler : program_.eulers()) {
            if (euler.imaginary != imaginary) continue;
            for (Index k = 0; k < 4; ++k) out_.places.push_back(place(context_.place(euler.matrix, k)));
            append(euler.start, euler_numbers);
            ++row.count;
        }
        if (row.count) out_.program.push_back(row);
    }

    void folds() {
        std::vector<Fold> all = program_.folds();
        std::sort(all.begin(), all.end(), [](const Fold& a, const Fold& b) {
            if (a.entries != b.entries) return a.entries < b.entries;
            return a.factors != b.factors ? a.factors < b.factors : a.start < b.start;
        });
        for (std::size_t first = 0; first < all.size();) {
            std::size_t last = first;
            Index entries = all[first].entries, factors = all[first].factors;
            std::ptrdiff_t words = static_cast<std::ptrdiff_t>(entries * ((factors + 63) / 64));
            Instruction row{Instruction::fold,
                            0,
                            0,
                            0,
                            0,
                            entries,
                            factors,
                            static_cast<Int>(out_.places.size()),
                            static_cast<Int>(out_.incidence.size())};
            for (; last < all.size() && all[last].entries == entries && all[last].factors == factors; ++last) {
                const Index* from = program_.factors(all[last]);
                for (Index k = 0; k < factors; ++k) out_.places.push_back(place(from[k]));
                const std::uint64_t* bits = program_.incidence(all[last]);
                out_.incidence.insert(out_.incidence.end(), bits, bits + words);
                append(all[last].start, entries);
            }
            row.count = static_cast<Int>(last - first);
            out_.program.push_back(row);
            first = last;
        }
    }

  private:
    void write(Factor factor, Index size, Index* to) const {
        context_.each_place(factor, size, [&](Index of) { *to++ = place(of); });
    }
    void put(Index start, Index number, Index size) {
        for (Index k = 0; k < size; ++k) made_[start - operands_ + k] = number + k;
    }
    void append(Index start, Index size) {
        put(start, at_, size);
        at_ += size;
    }

    const CoefficientProgram& program_;
    const PlanContext& context_;
    CoefficientArrays& out_;
    Index operands_, at_;
    std::vector<Index> made_;  // of each number that is no operand the place in the listed buffer
};

}  // namespace

Places CoefficientProgram::product(ProductKind kind, Factor left, Factor right) {
    auto exponent = [](Index size) { return static_cast<std::uint8_t>(lowest(size)); };
    // Before there are Euler angles, what is no operand and as it was made is a whole product.
    bool continues = !kind.late && !right.form && right.at >= num_operands_;
    Index start = continues ? right.at : take(kind.right());
    if (continues) shared_ += kind.right();
    products_.push_back({start, left, right, kind.level, static_cast<std::uint8_t>(kind.late), exponent(kind.blocks),
                         exponent(kind.size), exponent(kind.columns)});
    if (!kind.late) early_ = products_.size();
    room_ = std::max(room_, static_cast<Int>(2 * kind.right() * sizeof(double) + kind.left() * sizeof(Index)));
    return {start, kind.right()};
}

Places CoefficientProgram::euler(const Places& matrix, bool imaginary) {
    Index start = take(euler_numbers);
    eulers_.push_back({matrix, start, imaginary});
    return {start, euler_numbers};
}

Places CoefficientProgram::fold(std::vector<std::uint64_t>&& incidence, std::vector<Index>&& factors, Index entries,
                                bool distinct, PlanContext& context) {
    Index columns = static_cast<Index>(factors.size()), kept = entries;
    std::size_t words = (columns + 63) / 64;
    std::size_t bits = incidence_.size(), at = factors_.size();
    factors_.insert(factors_.end(), factors.begin(), factors.end());
    Places out{0, entries, static_cast<Index>(context.places.size())};
    context.places.resize(context.places.size() + entries);  // at first those among what is kept
    Index* which = context.places.data() + out.table;
    if (!words) {
        kept = 1;  // all entries are 1
    } else if (words == 1 && !distinct) {
        kept = 0;
        Distinct rows(entries);
        incidence_.resize(bits + entries);
        std::uint64_t* known = incidence_.data() + bits;
        for (Index row = 0; row < entries; ++row) {
            which[row] = static_cast<Index>(rows.of(incidence[row], known, kept));
            if (which[row] == kept) known[kept++] = incidence[row];
        }
        incidence_.resize(bits + kept);
    } else {  // rows of more than 64 factors are not compared
        for (Index row = 0; row < entries; ++row) which[row] = row;
        incidence_.insert(incidence_.end(), incidence.begin(), incidence.end());
    }
    Index start = take(kept);
    folds_.push_back({kept, columns, start, bits, at});
    for (Index row = 0; row < entries; ++row) which[row] += start;
    return out;
}

std::size_t CoefficientProgram::bytes() const {
    auto of = [](const auto& values) { return values.size() * sizeof values[0]; };
    return of(products_) + of(eulers_) + of(folds_) + of(incidence_) + of(factors_);
}

CoefficientArrays CoefficientProgram::listed(const PlanContext& context, const std::vector<Index>& packed) const {
    CoefficientArrays out;
    std::size_t places = 4 * eulers_.size() + factors_.size();
    for (const Product& product : products_) places += product.kind().left() + product.kind().right();
    out.places.reserve(places);
    Lister lister(*this, context, out);
    lister.products(0, early_);
    for (bool imaginary : {false, true}) lister.eulers(imaginary);
    lister.products(early_, products_.size());
    lister.folds();
    out.packed.reserve(packed.size());
    for (Index place : packed) out.packed.push_back(lister.place(place));
    return out;
}

}  // namespace qx::plan
