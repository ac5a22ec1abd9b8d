// The program that makes a plan's numbers: collecting it, and putting it in order.

#include "plan_numbers.hpp"

#include <algorithm>

namespace qx::plan {

namespace {

constexpr Index most_columns = 52;  // rows of more factors are not compared
constexpr Index euler_numbers = 7;

// Returns the numbers of the keys in ascending order, equal keys in theirs; the keys have so many bits.
std::vector<Index> sorted(const std::vector<std::uint64_t>& keys, Index size, int bits) {
    std::vector<Index> order(size), next(size);
    for (Index k = 0; k < size; ++k) order[k] = k;
    for (int shift = 0; shift < bits; shift += 8) {
        Index begin[257] = {};
        for (Index k = 0; k < size; ++k) ++begin[(keys[k] >> shift & 255) + 1];
        for (int digit = 0; digit < 256; ++digit) begin[digit + 1] += begin[digit];
        for (Index k : order) next[begin[keys[k] >> shift & 255]++] = k;
        order.swap(next);
    }
    return order;
}

}  // namespace

Places NumberProgram::product(ProductKind kind, Index at) {
    Index start = take(kind.right());
    products_.push_back({kind, at, start});
    return {start, kind.right()};
}

Places NumberProgram::euler(const Places& matrix) {
    Index start = take(euler_numbers);
    eulers_.push_back({matrix, start});
    return {start, euler_numbers};
}

Places NumberProgram::fold(
    std::vector<std::uint64_t>&& incidence, std::vector<Index>&& factors, Index entries, Book& book) {
    Index columns = static_cast<Index>(factors.size()), kept = entries;
    std::size_t words = (columns + 63) / 64;
    std::size_t bits = incidence_.size(), at = factors_.size();
    factors_.insert(factors_.end(), factors.begin(), factors.end());
    std::vector<Index> which(entries);
    if (columns > most_columns) {
        for (Index row = 0; row < entries; ++row) which[row] = row;
        incidence_.insert(incidence_.end(), incidence.begin(), incidence.end());
    } else {
        std::vector<Index> order = sorted(incidence, entries, static_cast<int>(columns));
        kept = 0;
        for (Index k = 0; k < entries; ++k) {
            if (!k || (words && incidence[order[k]] != incidence[order[k - 1]])) {
                ++kept;
                if (words) incidence_.push_back(incidence[order[k]]);
            }
            which[order[k]] = kept - 1;
        }
    }
    Index start = take(kept);
    folds_.push_back({kept, columns, start, bits, at});
    Places out{0, entries, static_cast<Index>(book.places.size())};
    for (Index row = 0; row < entries; ++row) book.places.push_back(start + which[row]);
    return out;
}

void NumberProgram::finish(Book& book, NumberArrays& out, std::vector<Index>& packed) {
    out.num_operands = num_operands_;
    std::sort(products_.begin(), products_.end(), [](const Product& a, const Product& b) {
        return a.kind != b.kind ? a.kind < b.kind : a.start < b.start;
    });
    std::sort(folds_.begin(), folds_.end(), [](const Fold& a, const Fold& b) {
        if (a.entries != b.entries) return a.entries < b.entries;
        return a.factors != b.factors ? a.factors < b.factors : a.start < b.start;
    });
    std::size_t early = 0;
    while (early < products_.size() && !products_[early].kind.late) ++early;

    Index at = static_cast<Index>(num_operands_), operands = at;
    std::vector<Index> made(static_cast<std::size_t>(size_ - num_operands_));  // where each number ends up
    auto append = [&](Index start, Index size) {
        for (Index k = 0; k < size; ++k) made[start - operands + k] = at++;
    };
    auto final_of = [&](Index place) { return place < operands ? place : made[place - operands]; };
    for (std::size_t k = 0; k < early; ++k) append(products_[k].start, products_[k].kind.right());
    for (const Euler& euler : eulers_) append(euler.start, euler_numbers);
    for (std::size_t k = early; k < products_.size(); ++k) append(products_[k].start, products_[k].kind.right());
    for (const Fold& fold : folds_) append(fold.start, fold.entries);

    std::vector<Index>& places = out.places;
    std::size_t size = 4 * eulers_.size();
    for (const Product& product : products_) size += product.kind.left() + product.kind.right();
    for (const Fold& fold : folds_) size += fold.factors;
    places.reserve(size);  // exactly, since it may be most of a plan's memory
    auto write_products = [&](std::size_t begin, std::size_t end) {
        for (std::size_t first = begin; first < end;) {
            std::size_t last = first;
            while (last < end && products_[last].kind == products_[first].kind) ++last;
            const ProductKind& kind = products_[first].kind;
            out.program.push_back({Instruction::product, static_cast<Int>(last - first), kind.blocks, kind.size, kind.columns, 0,
                                   0, static_cast<Int>(places.size()), 0});
            for (Index side = 0; side < 2; ++side)
                for (std::size_t k = first; k < last; ++k) {
                    Index begins = products_[k].at + (side ? kind.left() : 0);
                    for (Index j = 0; j < (side ? kind.right() : kind.left()); ++j)
                        places.push_back(final_of(book.places[begins + j]));
                }
            first = last;
        }
    };
    write_products(0, early);
    if (!eulers_.empty()) {
        out.program.push_back(
            {Instruction::euler, static_cast<Int>(eulers_.size()), 0, 0, 0, 0, 0, static_cast<Int>(places.size()), 0});
        for (const Euler& euler : eulers_)
            for (Index k = 0; k < 4; ++k) places.push_back(final_of(book.place(euler.matrix, k)));
    }
    write_products(early, products_.size());
    for (std::size_t first = 0; first < folds_.size();) {
        std::size_t last = first;
        Index entries = folds_[first].entries, factors = folds_[first].factors;
        std::size_t words = entries * ((factors + 63) / 64);
        Instruction row{Instruction::fold, 0, 0, 0, 0, entries, factors, static_cast<Int>(places.size()),
                        static_cast<Int>(out.incidence.size())};
        for (; last < folds_.size() && folds_[last].entries == entries && folds_[last].factors == factors; ++last) {
            const Fold& fold = folds_[last];
            for (Index k = 0; k < factors; ++k) places.push_back(final_of(factors_[fold.at + k]));
            auto bits = incidence_.begin() + static_cast<std::ptrdiff_t>(fold.bits);
            out.incidence.insert(out.incidence.end(), bits, bits + static_cast<std::ptrdiff_t>(words));
        }
        row.count = static_cast<Int>(last - first);
        out.program.push_back(row);
        first = last;
    }
    for (Index& place : packed) place = final_of(place);
}

}  // namespace qx::plan
