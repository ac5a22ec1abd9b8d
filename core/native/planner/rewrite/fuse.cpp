// Merging neighbours where that lowers the number of multiply-adds.

#include "planner/rewrite/fuse.hpp"

#include <algorithm>

namespace qx::plan {

namespace {

constexpr std::size_t longest_label = 40;

bool all_complex(Index pattern, const PlanContext& context) {
    return context.patterns[pattern].find_first_not_of(complex_) == Interned::Bytes::npos;
}

bool begins_character(char byte) { return (byte & 0xc0) != 0x80; }

}  // namespace

double work_of(const Piece& piece, PlanContext& context) {
    double share = 1;
    for (int k = count(piece.when.mask); k > 0; --k) share *= 0.5;
    if (piece.kind == Kind::permute) return 0;
    if (piece.kind == Kind::diagonal) return std::min(table_work, context.patterns.diagonal_work(piece.pattern, 0) * share);
    return context.patterns.mix_work(piece.pattern, piece.size(), false) * share;
}

Index joined_label(const std::vector<Index>& labels, PlanContext& context) {
    const Index first = labels.front();
    bool equal = std::all_of(labels.begin(), labels.end(), [&](Index label) { return label == first; });
    if (equal && context.labels[first].size() <= longest_label) return first;  // which joins nothing, and is not cut
    std::vector<Index> seen;
    std::vector<char> out;
    seen.reserve(labels.size()), out.reserve(2 * longest_label);
    for (std::size_t k = labels.size(); k-- > 0;) {
        if (context.labels[labels[k]].empty() || std::find(seen.begin(), seen.end(), labels[k]) != seen.end()) continue;
        if (!seen.empty()) out.insert(out.end(), {'\xc2', '\xb7'});  // a middle dot
        seen.push_back(labels[k]);
        Interned::Bytes label = context.labels[labels[k]];
        out.insert(out.end(), label.begin(), label.end());
    }
    std::size_t characters = 0, cut = out.size();
    for (std::size_t at = 0; at < out.size(); ++at)
        if (begins_character(out[at]) && ++characters == longest_label) cut = at;
    if (characters > longest_label) {
        out.resize(cut);
        out.insert(out.end(), {'\xe2', '\x80', '\xa6'});  // an ellipsis
    }
    return context.labels.of({out.data(), out.size()});
}

void number_pieces(std::vector<Piece>& work, PlanContext& context) {
    for (std::size_t k = 0; k < work.size(); ++k) {
        work[k].order = static_cast<Index>(k);
        work[k].work = work[k].kind <= Kind::diagonal ? work_of(work[k], context) : 0;
    }
}

void Fuser::add(Piece piece) {
    Index known = context_.patterns.without_eighths(piece.pattern);
    piece.pattern = context_.patterns.plain(known);
    if (known != piece.pattern) piece.known = known;
    if (!rules_.has(Rule::fuse) || !small(piece) || settle(piece)) push(piece);
}

std::vector<Piece> Fuser::finish() {
    std::size_t to = 0;
    for (std::size_t at = 0; at < kept_.size(); ++at)
        if (!gone_[at]) kept_[to++] = kept_[at];
    kept_.resize(to);
    return std::move(kept_);
}

void Fuser::push(const Piece& piece) {
    Index at = static_cast<Index>(kept_.size());
    kept_.push_back(piece);
    gone_.push_back(false);
    each(piece.touched, [&](int bit) { on_bit_[bit].push_back(at); });
}

// Removes a piece that is on top of all its bits.
void Fuser::pop(Index at) {
    each(kept_[at].touched, [&](int bit) { on_bit_[bit].pop_back(); });
    gone_[at] = true;
}

bool Fuser::on_top(const Piece& piece, Index at) const {
    bool top = true;
    each(piece.touched, [&](int bit) { top = top && on_bit_[bit].back() == at; });
    return top;
}

// Merges a piece with the pieces just before it; returns whether it is to be kept, and not merged into another.
bool Fuser::settle(Piece& piece) {
    for (;;) {
        Index tops[most_bits];
        int num_tops = 0;
        bool free = false;  // whether nothing came before on one of its bits
        each(piece.touched, [&](int bit) {
            if (on_bit_[bit].empty()) {
                free = true;
                return;
            }
            Index top = on_bit_[bit].back();
            if (!num_tops || tops[0] != top) tops[num_tops++] = top;
        });
        if (num_tops == 1 && !free && into_earlier(piece, tops[0])) return false;
        if (num_tops == 2 && tops[0] < tops[1]) std::swap(tops[0], tops[1]);
        if (!(dense(piece) && with_earlier(piece, tops, num_tops)) && !run(piece)) return true;
    }
}

// Multiplies a piece into the one matrix before it that covers all its bits; returns whether that was done.
bool Fuser::into_earlier(const Piece& piece, Index at) {
    const Piece& earlier = kept_[at];
    if (!dense(earlier) || piece.touched & ~earlier.touched) return false;
    const Piece* both[] = {&earlier, &piece};
    Piece merged;
    if (!merge(both, 2, bits_of(earlier), !dense(piece) && earlier.num_mixed == 1, merged)) return false;
    kept_[at] = merged;
    return true;
}

// Multiplies an earlier piece within its bits into a matrix.
bool Fuser::with_earlier(Piece& piece, const Index* tops, int num_tops) {
    for (int k = 0; k < num_tops; ++k) {
        const Piece& earlier = kept_[tops[k]];
        if (!small(earlier) || earlier.touched & ~piece.touched || !on_top(earlier, tops[k])) continue;
        const Piece* both[] = {&earlier, &piece};
        Piece merged;
        if (!merge(both, 2, bits_of(piece), piece.num_mixed == 1 && !dense(earlier), merged)) continue;
        pop(tops[k]);
        piece = merged;
        return true;
    }
    return false;
}

// Makes one matrix of three consecutive pieces on one bit, such as SX·RZ·SX, where no two of them gain.
bool Fuser::run(Piece& piece) {
    if (count(piece.touched) != 1 || !rules_.has(Rule::threes)) return false;
    int bit = lowest(piece.touched);
    const std::vector<Index>& stack = on_bit_[bit];
    if (stack.size() < 2) return false;
    Index first = stack[stack.size() - 2], second = stack.back();
    for (Index at : {first, second})
        if (count(kept_[at].touched) != 1 || !small(kept_[at])) return false;
    const Piece* three[] = {&kept_[first], &kept_[second], &piece};
    Piece merged;
    if (!merge(three, 3, {{bit, 0}, 1}, true, merged)) return false;
    pop(second);
    pop(first);
    piece = merged;
    return true;
}

// Whether a piece is a matrix on some bits, in their order.
bool Fuser::is_on(const Piece& piece, const Bits& bits) const {
    bool same = dense(piece) && piece.num_mixed == bits.size;
    for (int k = 0; same && k < bits.size; ++k) same = context_.bit(piece, k) == bits.bit[k];
    return same;
}

Fuser::Bits Fuser::bits_of(const Piece& piece) const {
    Bits out{{0, 0}, piece.num_mixed};
    for (int k = 0; k < out.size; ++k) out.bit[k] = context_.bit(piece, k);
    return out;
}

// Returns a piece of work with some pattern as a dense matrix on `bits`. That is the same for all pieces of the pattern that
// have these bits at the same places, in which most do.
Fuser::Embedding Fuser::embed(const Piece& piece, Index pattern, const Bits& bits) {
    if (is_on(piece, bits)) {  // as most matrices are
        Embedding out{pattern, none, {}};
        for (int k = 0; k < 1 << 2 * bits.size; ++k) out.entry[k] = static_cast<Index>(2 + k);
        return out;
    }
    if (piece.kind == Kind::permute || piece.num_reads > most_bits) return embedding(piece, pattern, bits);
    std::uint64_t key = pattern;
    auto add = [&](std::uint64_t value) { key = key << 2 | value; };  // which is below 4
    add(static_cast<std::uint64_t>(bits.size)), add(piece.kind == Kind::mix), add(piece.num_mixed), add(piece.num_reads);
    add(bits.local(piece.when.mask)), add(bits.local(piece.when.value));
    for (int k = 0; k < most_bits; ++k) add(k < piece.num_mixed ? bits.local(context_.bit(piece, k)) : 0);
    for (int k = 0; k < most_bits; ++k) add(k < piece.num_reads ? bits.local(context_.reads(piece)[k]) : 0);
    Index& known = embeddings_[key];
    if (known == Memo::none) {
        known = static_cast<Index>(known_.size());
        known_.push_back(embedding(piece, pattern, bits));
    }
    return known_[known];
}

Fuser::Embedding Fuser::embedding(const Piece& piece, Index pattern, const Bits& bits) {
    Embedding out;
    int size = 1 << bits.size, inner = piece.size();
    Interned::Bytes of = context_.patterns[pattern];
    Mask condition = bits.local(piece.when.mask), value = bits.local(piece.when.value);
    Mask mixed = bits.local(piece.mixed.units);
    int at[most_bits] = {0, 0};
    for (int k = 0; k < piece.num_mixed; ++k) at[k] = bits.local(context_.bit(piece, k));
    std::vector<Mask>::const_iterator reads = context_.words.begin() + piece.words + 2 * piece.num_mixed;
    char classes[most_entries];
    for (int k = 0; k < size * size; ++k) out.entry[k] = 0, classes[k] = zero;
    for (int column = 0; column < size; ++column) {
        if ((column & condition) != value) {
            out.entry[column * size + column] = 1, classes[column * size + column] = one;
            continue;
        }
        int c = 0, block = 0;
        for (int k = 0; k < piece.num_mixed; ++k) c |= (column >> at[k] & 1) << k;
        for (int k = 0; k < piece.num_reads; ++k) block |= (count(column & bits.local(reads[k])) & 1) << k;
        for (int r = 0; r < inner; ++r) {
            int row = column & ~static_cast<int>(mixed);
            for (int k = 0; k < piece.num_mixed; ++k) row |= (r >> k & 1) << at[k];
            Index& entry = out.entry[row * size + column];
            char& kind = classes[row * size + column];
            if (piece.kind == Kind::permute) {
                bool here = context_.values[piece.to + static_cast<Index>(c)] == static_cast<Index>(r);
                entry = here, kind = here ? one : zero;
            } else {
                int number = (block * inner + r) * inner + c;
                entry = static_cast<Index>(2 + number), kind = of[static_cast<std::size_t>(number)];
            }
        }
    }
    out.pattern = context_.patterns.of({classes, static_cast<std::size_t>(size * size)});
    out.form = context_.form(out.entry, static_cast<Index>(size * size));
    return out;
}

Factor Fuser::factor(const Piece& piece, const Embedding& made, Index size) {
    if (made.form == none) return context_.factor(piece.source, made.entry, size);
    Factor out = PlanContext::factor(piece.source);
    out.form += 2 * made.form;
    return out;
}

// Returns a piece of work as a dense matrix on `bits` at trial numbers.
Trial Fuser::trial_of(const Piece& piece, const Bits& bits) {
    Embedding made = embed(piece, piece.known == Piece::none ? piece.pattern : piece.known, bits);
    Interned::Bytes classes = context_.patterns[made.pattern];
    int inner = piece.size() * piece.size();
    Trial out;
    for (int k = 0; k < 1 << 2 * bits.size; ++k) {
        Index entry = made.entry[k];
        if (entry >= 2 && piece.trial != Piece::none) {
            for (int draw = 0; draw < Trial::draws; ++draw)
                out.entry[draw][k] = trials_.entry(piece.trial, inner, draw, static_cast<int>(entry) - 2);
        } else {
            out.set(k, classes[static_cast<std::size_t>(k)], entry < 2 ? entry : context_.place(piece.source, entry - 2));
        }
    }
    return out;
}

// Makes the product of pieces, the earliest first, at trial numbers if something may cancel in it.
bool Fuser::try_numbers(const Piece* const* pieces, int number, const Bits& bits, Trial& out) {
    bool some = false;
    for (int k = 0; k < number && rules_.has(Rule::trials); ++k) some = some || cancels(*pieces[k], context_);
    if (!some) return false;
    // With a matrix of complex numbers alone, of which nothing else is known, nothing cancels.
    for (int k = 0; k < number; ++k) {
        const Piece& piece = *pieces[k];
        if (piece.trial == Piece::none && piece.kind == Kind::mix && all_complex(piece.pattern, context_)) return false;
    }
    out = trial_of(*pieces[0], bits);
    for (int k = 1; k < number; ++k) out.multiply(trial_of(*pieces[k], bits), 1 << bits.size);
    return true;
}

// Makes one matrix on `bits` of pieces, the earliest first, if it costs no more (with `gain`: less).
bool Fuser::merge(const Piece* const* pieces, int number, const Bits& bits, bool gain, Piece& out) {
    double before = 0;
    for (int k = 0; k < number; ++k) before += work_of(*pieces[k], context_) + item_work_;
    return multiply(pieces, number, bits, before, gain, out);
}

bool Fuser::product(const Piece* const* pieces, int number, Mask on, double most, bool less, Piece& out) {
    Bits bits{{0, 0}, 0};
    each(on, [&](int bit) { bits.bit[bits.size++] = bit; });
    return multiply(pieces, number, bits, most, less, out);
}

bool Fuser::multiply(const Piece* const* pieces, int number, const Bits& bits, double most, bool less, Piece& out) {
    int size = 1 << bits.size;
    embedded_.clear();
    for (int k = 0; k < number; ++k) embedded_.push_back(embed(*pieces[k], pieces[k]->pattern, bits));
    Index of = embedded_[0].pattern;
    for (int k = 1; k < number; ++k)
        of = context_.patterns.product(embedded_[static_cast<std::size_t>(k)].pattern, of, size);
    Trial trial;
    bool tried = try_numbers(pieces, number, bits, trial);
    if (tried) of = trial.without_zeros(of, size * size, context_.patterns);
    double cost = context_.patterns.mix_work(of, size, false) + item_work_;
    if (cost > most || (less && cost == most)) return false;
    // What is drawn in all entries seldom cancels in products.
    tried = tried && (trial.is_known(size * size) || !all_complex(of, context_));

    auto factor_of = [&](int k) {
        return factor(*pieces[k], embedded_[static_cast<std::size_t>(k)], static_cast<Index>(size * size));
    };
    out = Piece();
    out.level = pieces[0]->level;
    out.unitary = pieces[0]->unitary;
    Factor right = factor_of(0);
    for (int k = 1; k < number; ++k) {
        out.level = 1 + std::max(out.level, pieces[k]->level);
        out.unitary = out.unitary && pieces[k]->unitary;
        ProductKind kind{0, out.level, 1, static_cast<Index>(size), static_cast<Index>(size)};
        out.source = program_.product(kind, factor_of(k), right);
        right = PlanContext::factor(out.source);
    }
    out.pattern = of;
    for (int k = 0; k < number; ++k)
        if (pieces[k]->trial != Piece::none) trials_.drop(pieces[k]->trial, pieces[k]->size() * pieces[k]->size());
    if (tried) out.trial = trials_.put(trial, size * size);
    context_.put(out, bits.bit, bits.size, nullptr, 0);
    if (number == 2) {
        out.label = labels_.of(pieces[0]->label, pieces[1]->label, context_);
    } else {
        std::vector<Index> labels(static_cast<std::size_t>(number));
        for (std::size_t k = 0; k < labels.size(); ++k) labels[k] = pieces[k]->label;
        out.label = joined_label(labels, context_);
    }
    return true;
}

}  // namespace qx::plan
