// Phases of the same parities become one, and complex matrices on one bit a real rotation between phases.

#include "planner/rewrite/rotate.hpp"

#include <algorithm>

#include "planner/rewrite/fuse.hpp"

namespace qx::plan {

namespace {

constexpr char rotation_classes[] = {real, real, real, real};
constexpr char phase_classes[] = {complex_};

// Two rotations on two bits, by what the values differ that they mix.
constexpr char r = real, o = zero;
constexpr char rotations[4][16] = {{},
                                   {r, r, o, o, r, r, o, o, o, o, r, r, o, o, r, r},
                                   {r, o, r, o, o, r, o, r, r, o, r, o, o, r, o, r},
                                   {r, o, o, r, o, r, r, o, o, r, r, o, r, o, o, r}};
constexpr char i = imag;
constexpr char imaginary_rotations[4][16] = {{},
                                             {r, i, o, o, i, r, o, o, o, o, r, i, o, o, i, r},
                                             {r, o, i, o, o, r, o, i, i, o, r, o, o, i, o, r},
                                             {r, o, o, i, o, r, i, o, o, i, r, o, i, o, o, r}};
constexpr Mask tells[] = {0, 2, 1, 3};  // the bits whose parity says which of the two it is

// Groups of pieces: each kept piece, and what joins it.
class Groups {
  public:
    explicit Groups(const PlanContext& context) : context_(context), mixed_(64, none) {}

    // Adds the next piece; returns the number of its group.
    Index add(const Piece& piece) {
        if (piece.kind == Kind::diagonal) {
            Index key = keys_.of(key_of(piece));
            if (key == latest_.size()) latest_.push_back(size_);
            else if (is_open(piece, latest_[key])) return latest_[key];
            else latest_[key] = size_;
        }
        each(piece.mixed.units, [&](int bit) { mixed_[bit] = size_; });
        return size_++;
    }
    Index size() const { return size_; }

  private:
    static constexpr Index none = ~Index{0};

    Interned::Bytes key_of(const Piece& piece) {
        words_.assign(context_.reads(piece), context_.reads(piece) + piece.num_reads);
        words_.push_back(piece.when.mask), words_.push_back(piece.when.value);
        return {reinterpret_cast<const char*>(words_.data()), words_.size() * sizeof(Mask)};
    }
    // Whether nothing behind a group mixes a bit of a piece.
    bool is_open(const Piece& piece, Index group) const {
        bool open = true;
        each(piece.touched, [&](int bit) { open = open && (mixed_[bit] == none || mixed_[bit] < group); });
        return open;
    }

    const PlanContext& context_;
    Interned keys_;
    std::vector<Index> latest_;  // for each key the last group that has it
    std::vector<Index> mixed_;   // for each bit the last group that mixes it
    std::vector<Mask> words_;
    Index size_ = 0;
};

// Products of phases of the same parities.
class PhaseProducts {
  public:
    PhaseProducts(PlanContext& context, CoefficientProgram& program) : context_(context), program_(program) {}

    // Multiplies neighbours, then these products, so that all of a level are made at once.
    Piece of(std::vector<Piece>& group) {
        while (group.size() > 1) {
            std::size_t to = 0;
            for (std::size_t k = 0; k + 1 < group.size(); k += 2) group[to++] = product(group[k], group[k + 1]);
            if (group.size() & 1) group[to++] = group.back();
            group.resize(to);
        }
        return group.front();
    }

  private:
    Piece product(const Piece& first, const Piece& then) {
        Piece out = first;
        out.level = 1 + std::max(first.level, then.level);
        out.unitary = first.unitary && then.unitary;
        out.label = labels_.of(first.label, then.label, context_);
        out.source = program_.product({0, out.level, first.source.count, 1, 1}, PlanContext::factor(then.source),
                                      PlanContext::factor(first.source));
        out.pattern = pattern(first.pattern, then.pattern);
        return out;
    }
    Index pattern(Index first, Index then) {
        Index& known = patterns_[static_cast<std::uint64_t>(first) << 32 | then];
        if (known != Memo::none) return known;
        Interned::Bytes one = context_.patterns[first], other = context_.patterns[then];
        std::vector<char> of(one.size());
        for (std::size_t k = 0; k < of.size(); ++k) of[k] = times(one[k], other[k]);
        return known = context_.patterns.of({of.data(), of.size()});
    }

    PlanContext& context_;
    CoefficientProgram& program_;
    JoinedLabels labels_;
    Memo patterns_;  // of products, by those of the factors
};

// One of two matrices on two bits: the entries of its values that differ by `apart`, row by row.
struct Block {
    Index entries[4];
    int high;

    Block(int which, int apart) {
        int low = which ? (apart == 1 ? 2 : 1) : 0, values[] = {low, low ^ apart};
        for (int k = 0; k < 4; ++k) entries[k] = static_cast<Index>(4 * values[k >> 1] + values[k & 1]);
        high = values[1];
    }
};

// Whether imaginary rotations need phases before them, and behind them, to be the blocks of a matrix. For a block
// [a, b; c, d] it is cd = e^{2i alpha} ab and bd = e^{2i beta} ac, and d = e^{i(alpha + beta)} a. So where alpha and beta
// are multiples of pi, a sign may be left; one is as good before the rotation as behind it, whose sine changes its sign.
// What holds at all draws holds for all numbers, and no entry is 0 for all numbers (`direction`): so it holds also where
// cosine or sine are 0, and for unitary numbers either comparison says that the rotation is imaginary.
struct Phases {
    bool before = false, after = false;

    Phases(const Piece& piece, const Block* blocks, const Trials& trials) {
        if (piece.trial == Piece::none) before = after = true;
        bool sign = false;
        for (int k = 0; k < 2 * Trial::draws && !(before && after); ++k) {
            auto entry = [&](int at) {
                return trials.entry(piece.trial, Trial::most_entries, k >> 1, static_cast<int>(blocks[k & 1].entries[at]));
            };
            Trial::Number a = entry(0), b = entry(1), c = entry(2), d = entry(3);
            before = before || !Trial::same(a * c, b * d);
            after = after || !Trial::same(a * b, c * d);
            sign = sign || !Trial::same(a, d);
        }
        if (!before) after = after || sign;
    }
};

// Appends two complex matrices on two bits, each on values that differ by `apart`, as rotations between phases.
void add_two(const Piece& piece, int apart, std::vector<Piece>& out, PlanContext& context, CoefficientProgram& program,
             const Trials& trials) {
    Index rotation[16] = {}, before[4] = {1, 1, 1, 1}, after[4] = {1, 1, 1, 1}, scales[2];
    char classes[] = {one, one, one, one};
    const Block blocks[] = {{0, apart}, {1, apart}};
    const Phases needed(piece, blocks, trials);
    const bool imaginary = !(needed.before && needed.after);
    for (int which = 0; which < 2; ++which) {
        const auto& [entries, high] = blocks[which];
        const Index transposed[] = {entries[0], entries[2], entries[1], entries[3]};
        const Index* taken = imaginary && needed.after ? transposed : entries;
        Index numbers = program.euler(context.picked(piece.source, taken, 4), imaginary).first;
        for (Index k = 0; k < 4; ++k) rotation[entries[k]] = numbers + k;
        before[high] = numbers + 5, after[high] = numbers + (imaginary ? 5 : 4), scales[which] = numbers + 6;
        classes[high] = complex_;
    }
    int bits[] = {context.bit(piece, 0), context.bit(piece, 1)};
    Mask reads[] = {unit(bits[0]), unit(bits[1])}, which = 0;
    for (int k = 0; k < 2; ++k) which |= tells[apart] >> k & 1 ? reads[k] : 0;
    auto add = [&](Interned::Bytes of, const Index* places, const Mask* parities, int number) {
        Piece made;
        made.kind = number ? Kind::diagonal : Kind::mix, made.label = piece.label;
        made.pattern = context.patterns.of(of);
        made.source = {0, static_cast<Index>(of.size()), static_cast<Index>(context.places.size())};
        context.places.insert(context.places.end(), places, places + of.size());
        context.put(made, bits, number ? 0 : 2, parities, number);
        out.push_back(made);
    };
    constexpr char phases[] = {complex_, complex_};
    if (needed.before) add({classes, 4}, before, reads, 2);
    add({imaginary ? imaginary_rotations[apart] : rotations[apart], 16}, rotation, nullptr, 0);
    if (needed.after) add({classes, 4}, after, reads, 2);
    add({phases, 2}, scales, &which, 1);
}

}  // namespace

int direction(const Piece& piece, const PlanContext& context) {
    if (!piece.unitary || piece.kind != Kind::mix || piece.num_mixed != 2 || piece.num_reads || piece.when.mask) return 0;
    Interned::Bytes of = context.patterns[piece.pattern];
    for (int apart = 1; apart <= 3; ++apart) {
        bool same = true;
        for (std::size_t k = 0; k < 16; ++k) same = same && (of[k] == zero) == (rotations[apart][k] == zero);
        if (same) return std::count(of.begin(), of.end(), static_cast<char>(complex_)) >= 6 ? apart : 0;
    }
    return 0;
}

bool splits(const Piece& piece, const PlanContext& context) {
    if (!piece.unitary || piece.kind != Kind::mix || piece.num_mixed != 1 || piece.num_reads || piece.when.mask)
        return false;
    Interned::Bytes of = context.patterns[piece.pattern];
    return std::count(of.begin(), of.end(), static_cast<char>(complex_)) >= 3;
}

std::vector<Piece> rotate(std::vector<Piece> work, PlanContext& context, CoefficientProgram& program, const Trials& trials,
                          GlobalPhase& global, Rules rules) {
    auto one = [&](const Piece& piece) { return rules.has(Rule::rotate) && splits(piece, context); };
    auto two = [&](const Piece& piece) { return rules.has(Rule::rotate_pairs) ? direction(piece, context) : 0; };
    std::ptrdiff_t found =
        std::count_if(work.begin(), work.end(), [&](const Piece& piece) { return one(piece) || two(piece); });
    if (!found) return work;
    Index rotation = context.patterns.of({rotation_classes, 4}), phase = context.patterns.of({phase_classes, 1});
    Index label = context.labels.of("phase");
    std::vector<Piece> out;
    out.reserve(work.size() + 2 * static_cast<std::size_t>(found));
    for (const Piece& piece : work) {
        if (int apart = two(piece)) {
            add_two(piece, apart, out, context, program, trials);
            continue;
        }
        if (!one(piece)) {
            out.push_back(piece);
            continue;
        }
        Index numbers = program.euler(piece.source).first;
        auto add = [&](Kind kind, When when, Index pattern, Index at, Index size, Index name) {
            Piece made;
            made.kind = kind, made.when = when, made.pattern = pattern, made.label = name;
            made.source = {numbers + at, size};
            int bit = context.bit(piece, 0);
            context.put(made, &bit, kind == Kind::mix, nullptr, 0);
            out.push_back(made);
        };
        When bit{piece.mixed.units, piece.mixed.units};
        add(Kind::diagonal, bit, phase, 5, 1, piece.label);
        add(Kind::mix, {}, rotation, 0, 4, piece.label);
        add(Kind::diagonal, bit, phase, 4, 1, piece.label);
        global.take_late(numbers + 6, label);
    }
    return out;
}

std::vector<Piece> gather(std::vector<Piece> work, PlanContext& context, CoefficientProgram& program) {
    Groups groups(context);
    std::vector<Index> of(work.size());
    for (std::size_t k = 0; k < work.size(); ++k) of[k] = groups.add(work[k]);
    if (groups.size() == work.size()) return work;
    std::vector<std::vector<Piece>> joining;
    std::vector<Index> place(groups.size(), ~Index{0});  // of a group with several pieces
    Index seen = 0;
    for (std::size_t k = 0; k < work.size(); ++k) {
        if (of[k] == seen) {
            work[seen++] = work[k];
            continue;
        }
        Index& at = place[of[k]];
        if (at == ~Index{0}) at = static_cast<Index>(joining.size()), joining.push_back({work[of[k]]});
        joining[at].push_back(work[k]);
    }
    work.resize(seen);
    PhaseProducts products(context, program);
    for (Index group = 0; group < seen; ++group)
        if (place[group] != ~Index{0}) work[group] = products.of(joining[place[group]]);
    return work;
}

}  // namespace qx::plan
