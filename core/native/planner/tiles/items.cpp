// From the work of a sweep to its items: tables of commuting diagonals, slots for numbers.

#include "planner/tiles/items.hpp"

#include <charconv>

#include "planner/tiles/phases.hpp"

namespace qx::plan {

namespace {

constexpr double table_cost = 5.0;  // of a table in multiply-adds per amplitude: a complex product and a lookup

// All parities that a diagonal depends on: its reads, and each bit of its condition.
template <class Act>
void each_parity(const Piece& piece, const PlanContext& context, Act act) {
    for (int k = 0; k < piece.num_reads; ++k) act(context.reads(piece)[k]);
    each(piece.when.mask, [&](int bit) { act(unit(bit)); });
}

}  // namespace

// Diagonals that share one table; its index bits are parities that span all their parities over GF(2).
struct Packer::Group {
    struct Row {
        Mask rest, made;  // a mask with a leading bit of its own, and the basis parities whose sum it is
    };

    PieceRefs members;
    std::vector<Mask> basis;
    Mask leading = 0;  // the leading bits of the rows
    Row rows[64];      // by these

    // Returns the part of a parity outside the span; `made` is set to the basis parities whose sum the rest is.
    Mask outside(Mask mask, Mask& made) const {
        made = 0;
        while (mask) {
            int top = highest(mask);
            if (!(leading >> top & 1)) return mask;  // it is new: lower leading bits cannot remove this one
            mask ^= rows[top].rest;
            made ^= rows[top].made;
        }
        return 0;
    }
    void span(Mask mask) {
        Mask made, rest = outside(mask, made);
        if (!rest) return;
        rows[highest(rest)] = {rest, made ^ unit(static_cast<int>(basis.size()))};
        leading |= unit(highest(rest));
        basis.push_back(mask);
    }
    void begin(const Piece& piece, const PlanContext& context) {
        members.push_back(&piece);
        each_parity(piece, context, [&](Mask mask) { span(mask); });
    }
    // Returns whether the parities that index the table already determine a diagonal.
    bool spans(const Piece& piece, const PlanContext& context) const {
        bool all = true;
        Mask made;
        each_parity(piece, context, [&](Mask mask) { all = all && !outside(mask, made); });
        return all;
    }
    // The basis parities whose sum a parity in the span is.
    Mask sum(Mask mask) const {
        Mask made;
        outside(mask, made);
        return made;
    }
    // Adds a diagonal if the table stays within `limit` parities.
    bool take(const Piece& piece, std::size_t limit, const PlanContext& context) {
        std::size_t before = basis.size();
        Mask were = leading;
        each_parity(piece, context, [&](Mask mask) { span(mask); });
        if (basis.size() > limit) {
            basis.resize(before), leading = were;
            return false;
        }
        members.push_back(&piece);
        return true;
    }
};

Packer::Packer(PlanContext& context, CoefficientProgram& program, StepArrays& out, int table)
    : context_(context), program_(program), out_(out), limit_(table), first_item_(out.items.size()) {}

void Packer::add(Directions registers, const PieceRefs& work, bool last) {
    std::size_t begin = out_.items.size();
    registers_ = registers.units;
    for (const Piece* piece : work) {
        if (piece->kind == Kind::diagonal) {
            held_.push_back(piece);
            continue;
        }
        due_.clear(), others_.clear();
        for (const Piece* held : held_) (held->touched & piece->mixed.units ? due_ : others_).push_back(held);
        if (!due_.empty()) {
            tables(due_, others_);
            held_.swap(others_);
        }
        dense(*piece);
    }
    if (last) {
        others_.clear();
        tables(held_, others_);
        held_.clear();
    }
    out_.register_blocks.push_back(
        {static_cast<Int>(registers.units), static_cast<Int>(begin), static_cast<Int>(out_.items.size())});
}

void Packer::finish(Int& numbers, Int& tables) {
    numbers = static_cast<Int>(numbers_.size()), tables = static_cast<Int>(tables_.size());
    for (std::size_t k = first_item_; k < out_.items.size(); ++k)
        if (out_.items[k].num_reads) out_.items[k].slot += numbers;
    out_.packed.insert(out_.packed.end(), numbers_.begin(), numbers_.end());
    out_.packed.insert(out_.packed.end(), tables_.begin(), tables_.end());
}

void Packer::dense(const Piece& piece) {
    add(piece, piece.pattern, piece.source, context_.reads(piece), piece.num_reads, piece.label);
}

// Appends an item with the bits and the condition of a piece, and reserves room for its numbers.
void Packer::add(const Piece& piece, Index pattern, const Places& source, const Mask* reads, int num_reads, Index label) {
    Item item{};
    item.kind = static_cast<Int>(piece.kind);
    item.num_bits = piece.num_mixed, item.num_reads = num_reads, item.words = piece.words;
    if (reads != context_.reads(piece)) {  // a table, which has no bits
        item.words = static_cast<Int>(context_.words.size());
        context_.words.insert(context_.words.end(), reads, reads + num_reads);
    }
    item.when_mask = static_cast<Int>(piece.when.mask), item.when_value = static_cast<Int>(piece.when.value);
    item.pattern = pattern, item.to = piece.to, item.label = label;
    if (piece.kind != Kind::permute) {
        std::vector<Index>& into = num_reads ? tables_ : numbers_;
        Interned::Bytes of = context_.patterns[pattern];
        item.slot = static_cast<Int>(into.size());
        if (num_reads && source.table != Places::none) {
            const auto from = context_.places.begin() + source.table;
            into.insert(into.end(), from, from + source.count);
        } else {
            for (Index k = 0; k < source.count; ++k)
                if (num_reads || numbered(of[k])) into.push_back(context_.place(source, k));
        }
        item.count = static_cast<Int>(into.size()) - item.slot;
    }
    out_.items.push_back(item);
}

double Packer::alone(const Piece& piece) {
    double share = 1;
    for (int k = count(piece.when.mask); k > 0; --k) share *= 0.5;
    const Index looked_up = elsewhere(context_.reads(piece), piece.num_reads, registers_);
    return context_.patterns.diagonal_work(piece.pattern, looked_up) * share;
}

void Packer::tables(const PieceRefs& due, PieceRefs& optional) {
    std::vector<Group> groups;
    std::size_t limit = static_cast<std::size_t>(limit_);
    for (const Piece* piece : due) {
        bool taken = false;
        for (Group& group : groups) {
            taken = group.take(*piece, limit, context_);
            if (taken) break;
        }
        if (!taken) groups.emplace_back().begin(*piece, context_);
    }
    std::erase_if(optional, [&](const Piece* piece) {
        for (Group& group : groups) {
            bool may = group.members.size() > 1 || group.spans(*piece, context_);
            if (may && group.take(*piece, limit, context_)) return true;
        }
        return false;
    });
    for (Group& group : groups) write(group);
}

void Packer::write(Group& group) {
    double apart = 0;
    for (const Piece* piece : group.members) apart += alone(*piece);
    if (group.members.size() == 1 || apart <= table_cost) {
        for (const Piece* piece : group.members) dense(*piece);
        return;
    }
    Index columns = 0;
    for (const Piece* piece : group.members)
        for (char entry : context_.patterns[piece->pattern]) columns += entry != one;
    PhaseTable table(group.basis.size(), columns);
    for (const Piece* member : group.members) {
        const Piece& piece = *member;
        parities_.clear();
        each_parity(piece, context_, [&](Mask mask) { parities_.push_back(group.sum(mask)); });
        Mask wanted = 0;
        int place = piece.num_reads;
        each(piece.when.mask, [&](int bit) { wanted |= (piece.when.value >> bit & 1) << place++; });
        Interned::Bytes of = context_.patterns[piece.pattern];
        for (Index k = 0; k < of.size(); ++k)
            if (of[k] != one) table.add(parities_, wanted | k, of[k], context_.place(piece.source, k));
    }
    table.finish();
    Index pattern = context_.patterns.of({table.classes.data(), table.classes.size()});
    char label[32];
    char* end = std::to_chars(label, label + 16, group.members.size()).ptr;
    for (char letter : std::string_view(" phases")) *end++ = letter;
    Index name = context_.labels.of({label, static_cast<std::size_t>(end - label)});
    Places source =
        program_.fold(std::move(table.incidence), std::move(table.factors), table.entries(), table.distinct(), context_);
    Piece made;
    made.kind = Kind::diagonal;
    std::vector<Mask> reads = group.basis;
    made.words = static_cast<std::uint32_t>(context_.words.size());
    add(made, pattern, source, reads.data(), static_cast<int>(reads.size()), name);
}

}  // namespace qx::plan
