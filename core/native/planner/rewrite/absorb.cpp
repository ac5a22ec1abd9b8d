// From instructions on wires to work on index bits: SWAPs and Xs become changes of the layout and vanish.

#include "planner/rewrite/absorb.hpp"

#include <algorithm>

#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

bool moves_nothing(const Index* to, std::size_t size) {
    for (std::size_t x = 0; x < size; ++x)
        if (to[x] != x) return false;
    return true;
}

bool all_ones(Interned::Bytes of) {
    for (char entry : of)
        if (entry != one) return false;
    return true;
}

}  // namespace

Absorber::Absorber(const Layout& start, const Shape& shape, Mask zero, PlanContext& context)
    : layout_(start), shape_(shape), relabels_(shape.relabels && shape.rules.has(Rule::relabel)),
      zero_(shape.rules.has(Rule::known_zeros) ? zero : 0), context_(context) {
    for (std::size_t wire = 0; wire < start.address.size(); ++wire)
        identity_ = identity_ && start.address[wire] == static_cast<int>(wire);
}

void Absorber::begin(const Circuit& circuit) {
    circuit_ = &circuit;
    at_ = 0, mixes_ = circuit.mixes.data(), reads_ = circuit.reads.data();
}

bool Absorber::next(Piece& out) {
    out = Piece();
    const Circuit::Row& row = circuit_->rows[at_];
    out.label = row.name;
    bits_of_mixes();
    bool left = true;
    Mask mixed = 0;
    switch (row.type) {
        case Circuit::op: left = op(out); break;
        case Circuit::permutation: left = permutation(out); break;
        default: initialize(out);
    }
    if (left && zero_)
        for (int bit : bits_) mixed |= unit(bit);
    zero_ &= ~mixed;
    mixes_ += row.num_mixes;
    reads_ += row.num_reads;
    ++at_;
    return left;
}

void Absorber::bits_of_mixes() {
    bits_.clear();
    for (int k = 0; k < circuit_->rows[at_].num_mixes; ++k) bits_.push_back(layout_.address[mixes_[k]]);
}

Mask Absorber::moved(Mask wires) const {
    if (identity_) return wires;
    Mask out = 0;
    each(wires, [&](int wire) { out |= unit(layout_.address[wire]); });
    return out;
}

// The values of some bits that are stored inverted, as a number.
Mask Absorber::flips(const std::vector<int>& bits) const {
    Mask out = 0;
    for (std::size_t k = 0; k < bits.size(); ++k) out |= (layout_.flip >> bits[k] & 1) << k;
    return out;
}

// Applies x -> x' with new bit j = old bit source[j] XOR bit j of flip to the wires at `mixes_`; moves no data.
void Absorber::relabel(const Relabeling& found) {
    for (std::size_t j = 0; j < found.source.size(); ++j) {
        int bit = bits_[found.source[j]];
        layout_.address[mixes_[j]] = bit;
        if (found.flip >> j & 1) layout_.flip ^= unit(bit);
        identity_ = identity_ && found.source[j] == static_cast<int>(j);
    }
}

// Leaves out of a condition on wires what is known of bits that are 0; returns whether it may hold.
bool Absorber::holds(Mask& mask, Mask& value) const {
    if (!zero_ || !mask) return true;
    Mask never = 0, known = 0;
    each(mask, [&](int wire) {
        int bit = layout_.address[static_cast<std::size_t>(wire)];
        if (!(zero_ >> bit & 1)) return;
        known |= unit(wire);
        never |= (value >> wire & 1) ^ (layout_.flip >> bit & 1);
    });
    mask &= ~known, value &= ~known;
    return !never;
}

bool Absorber::op(Piece& out) {
    const Circuit::Row& row = circuit_->rows[at_];
    Mask condition = row.when.mask, wanted = row.when.value;
    if (!holds(condition, wanted)) return false;
    Index pattern = row.pattern;
    Index length = static_cast<Index>(context_.patterns[pattern].size());
    int num_mixes = static_cast<int>(bits_.size()), size = 1 << num_mixes;
    masks_.assign(reads_, reads_ + row.num_reads);
    out.source = {static_cast<Index>(row.operand), length};
    out.unitary = row.unitary;
    if (relabels_ && out.unitary && num_mixes && num_mixes <= thresholds.relabeled && !condition) {
        const Relabeling& found = context_.patterns.relabeling(pattern, size);
        if (found.found) {
            relabel(found);
            if (found.trivial) return false;
            // What is left is a table over the reads, and then the bits that were mixed.
            Index blocks = length / static_cast<Index>(size * size);
            picked_.clear(), classes_.clear();
            for (Index row = 0; row < static_cast<Index>(size); ++row)
                for (Index block = 0; block < blocks; ++block)
                    picked_.push_back((block * size + row) * size + found.column[row]);
            for (Index entry : picked_) classes_.push_back(context_.patterns[pattern][entry]);
            out.source = context_.picked(out.source, picked_.data(), picked_.size());
            pattern = context_.patterns.of({classes_.data(), classes_.size()});
            length = static_cast<Index>(picked_.size());
            for (int k = 0; k < num_mixes; ++k) masks_.push_back(unit(static_cast<int>(mixes_[k])));
            bits_.clear();
            size = 1;
        }
    }
    for (Mask& mask : masks_) mask = moved(mask);
    if (layout_.flip) {
        Mask read_flip = 0, mix_flip = flips(bits_);
        for (std::size_t k = 0; k < masks_.size(); ++k)
            read_flip |= static_cast<Mask>(count(masks_[k] & layout_.flip) & 1) << k;
        if (read_flip || mix_flip) {
            Index area = static_cast<Index>(size * size);
            picked_.clear(), classes_.clear();
            for (Index block = 0; block < length / area; ++block)
                for (Index row = 0; row < static_cast<Index>(size); ++row)
                    for (Index column = 0; column < static_cast<Index>(size); ++column)
                        picked_.push_back(
                            static_cast<Index>((block ^ read_flip) * area + (row ^ mix_flip) * size + (column ^ mix_flip)));
            for (Index entry : picked_) classes_.push_back(context_.patterns[pattern][entry]);
            out.source = context_.picked(out.source, picked_.data(), picked_.size());
            pattern = context_.patterns.of({classes_.data(), classes_.size()});
        }
    }
    if (zero_) pattern = without_zeros(pattern, static_cast<Index>(size * size), out.source);
    out.pattern = pattern;
    out.when.mask = moved(condition);
    out.when.value = condition ? moved(wanted) ^ (layout_.flip & out.when.mask) : 0;
    return place(out, bits_, masks_);
}

// Leaves out of the parities at `masks_` bits that are 0, and of a table what it has where a parity of none would be 1.
Index Absorber::without_zeros(Index pattern, Index area, Places& source) {
    Index none = 0;
    for (std::size_t k = 0; k < masks_.size(); ++k) {
        masks_[k] &= ~zero_;
        if (!masks_[k]) none |= Index{1} << k;
    }
    if (!none) return pattern;
    picked_.clear(), classes_.clear();
    for (Index entry = 0; entry < area << masks_.size(); ++entry)
        if (!(entry / area & none)) picked_.push_back(entry);
    for (Index entry : picked_) classes_.push_back(context_.patterns[pattern][entry]);
    masks_.erase(std::remove(masks_.begin(), masks_.end(), Mask{0}), masks_.end());
    source = context_.picked(source, picked_.data(), picked_.size());
    return context_.patterns.of({classes_.data(), classes_.size()});
}

// Gives an operation its kind; returns false for the identity.
bool Absorber::place(Piece& out, const std::vector<int>& bits, const std::vector<Mask>& reads) {
    int num_mixed = static_cast<int>(bits.size());
    context_.put(out, bits.data(), num_mixed, reads.data(), static_cast<int>(reads.size()));
    if (bits.empty()) {
        out.kind = Kind::diagonal;
        return !all_ones(context_.patterns[out.pattern]);
    }
    if (reads.empty() && num_mixed <= shape_.registers && num_mixed <= thresholds.relabeled) {
        const std::vector<Index>& to = context_.patterns.permutation(out.pattern, out.size());
        if (!to.empty()) {
            if (moves_nothing(to.data(), to.size())) return false;
            out.kind = Kind::permute;
            out.source = {};
            out.to = static_cast<Index>(context_.values.size());
            context_.values.insert(context_.values.end(), to.begin(), to.end());
            return true;
        }
    }
    out.kind = num_mixed <= shape_.dense ? Kind::mix : Kind::dense_matrix;
    return true;
}

bool Absorber::permutation(Piece& out) {
    std::size_t size = std::size_t{1} << bits_.size();
    picked_.assign(reads_, reads_ + size);
    if (moves_nothing(picked_.data(), size)) return false;
    Relabeling found = affine(picked_.data(), size);
    if (relabels_ && found.found) {
        relabel(found);
        return false;
    }
    context_.put(out, bits_.data(), static_cast<int>(bits_.size()), nullptr, 0);
    Index flip = static_cast<Index>(flips(bits_));
    out.pattern = context_.patterns.of({});
    out.to = static_cast<Index>(context_.values.size());
    for (std::size_t x = 0; x < size; ++x) context_.values.push_back(picked_[x ^ flip] ^ flip);
    const int num_bits = static_cast<int>(bits_.size());
    bool narrow = num_bits <= shape_.registers && num_bits <= thresholds.relabeled;
    out.kind = narrow ? Kind::permute : Kind::basis_permutation;
    return true;
}

void Absorber::initialize(Piece& out) {
    context_.put(out, bits_.data(), static_cast<int>(bits_.size()), nullptr, 0);
    Index size = Index{1} << bits_.size(), operand = static_cast<Index>(circuit_->rows[at_].operand);
    out.kind = Kind::initial_amplitudes;
    out.pattern = context_.patterns.of({});
    out.held = flips(bits_);
    out.source = {operand, size};
    if (out.held) {
        picked_.resize(size);
        for (Index k = 0; k < size; ++k) picked_[k] = k ^ static_cast<Index>(out.held);
        out.source = context_.picked({operand, size}, picked_.data(), size);
    }
}

}  // namespace qx::plan
