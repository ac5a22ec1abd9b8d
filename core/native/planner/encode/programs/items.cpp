// The operations of a program that are no matrices: phases, permutations, layers, and what any of them is under.

#include "planner/encode/programs/programs.hpp"
#include "planner/encode/programs/words.hpp"

namespace qx::plan {

void ProgramWriter::item(const Item& item) {
    if (bodies_ && joins_layer(item)) return;
    if (!commutes_with_layer(item)) close_layer();
    switch (static_cast<Kind>(item.kind)) {
        case Kind::mix: mix(item); break;
        case Kind::diagonal: diagonal(item); break;
        default: permute(item);
    }
}

// Whether an item may run before those of the layer that is kept open.
bool ProgramWriter::commutes_with_layer(const Item& item) const {
    Mask mixed = 0, read = static_cast<Mask>(item.when_mask);
    for (Int k = 0; k < item.num_bits; ++k) mixed |= bits_of(item)[k];
    for (Int k = 0; k < item.num_reads; ++k) read |= reads_of(item)[k];
    return !((mixed | read) & layer_mixed_) && !(mixed & layer_phased_);
}

// Takes an item into the open layer, which is closed before if it has another one on this bit; returns whether the item is
// of those that layers have: a matrix on one bit or a phase of one bit, under no other condition.
bool ProgramWriter::joins_layer(const Item& item) {
    if (item.num_reads) return false;
    const bool matrix = static_cast<Kind>(item.kind) == Kind::mix;
    Mask bit = static_cast<Mask>(item.when_mask);
    if (matrix) {
        if (item.num_bits != 1 || bit) return false;
        bit = unit(lowest(bits_of(item)[0]));
    } else if (static_cast<Kind>(item.kind) != Kind::diagonal || bit & ~own_ || count(bit) != 1 ||
               bit != static_cast<Mask>(item.when_value)) {
        return false;
    }
    if (bit & (matrix ? layer_mixed_ | layer_phased_ : layer_phased_)) close_layer();
    (matrix ? layer_mixed_ : layer_phased_) |= bit;
    LayerBit& found = layer_[index_of(register_bit_, lowest(bit))];
    (matrix ? found.matrix : found.phase) = &item;
    return true;
}

// Writes the open layer.
void ProgramWriter::close_layer() {
    if (!(layer_mixed_ | layer_phased_)) return;
    std::uint32_t head = layer_op;
    std::size_t at = out_.words.size();
    word(0), word(0);
    Int begin = -1;
    auto take = [&](const Int* takes, std::size_t size) {
        Int place = share(takes, size);
        if (begin < 0) begin = place;
    };
    for (std::size_t j = 0; j < register_bits; ++j) {
        LayerBit& bit = layer_[j];
        std::uint32_t does = 0;
        if (bit.matrix) {
            parts_of(*bit.matrix);
            const Matrix1 entries = matrix_1(*bit.matrix);
            does = entries.body == real_1 ? layer_real : entries.body == crossed_1 ? layer_crossed : layer_mix;
            take(entries.takes.data(), entries.body == mix_1 ? 8 : 4);
        }
        if (bit.phase) {
            parts_of(*bit.phase);
            does |= layer_phase;
            take(parts_.data(), parts_.size());
        }
        head |= does << (8 + 4 * j);
        bit = {};
    }
    out_.words[at] = head, out_.words[at + 1] = bytes(begin);
    layer_mixed_ = layer_phased_ = 0;
}

void ProgramWriter::diagonal(const Item& item) {
    std::uint32_t mask = within(static_cast<Mask>(item.when_mask), register_bit_);
    std::uint32_t value = within(static_cast<Mask>(item.when_value), register_bit_);
    std::uint32_t which = acting(mask, value, 0, in_order), beyond[4];
    std::uint32_t inner = condition(item, beyond);
    parts_of(item);
    if (!item.num_reads) {
        if (bodies_ && phase(item, mask, value)) return;
        word((bodies_ ? phase_op + any_registers : phase_code(mask, value)) | inner);
        word(static_cast<std::uint32_t>(share(parts_.data(), parts_.size())));
        for (std::uint32_t half : beyond) word(half);
        word(which);
        return;
    }
    bool inside = std::all_of(reads_of(item), reads_of(item) + item.num_reads, [&](Mask read) { return !(read & ~own_); });
    if (!inner && inside) return factors(item, which);
    if (bodies_ && item.num_reads == 1 && !item.when_mask) return parity(item, parity_op, parts_);
    looked_up(item, table_op, look_up(parts_), which, true, in_order, 0, 0);
}

// Writes a phase for a body that there is for its condition, whose parts have been made; returns whether there is one.
bool ProgramWriter::phase(const Item& item, std::uint32_t mask, std::uint32_t value) {
    const bool ones = mask == value;
    if (ones && count(mask) == 2 && static_cast<Mask>(item.when_mask) == (static_cast<Mask>(item.when_mask) & own_)) {
        word(phase_2 + pair_number(lowest(mask), lowest(mask & (mask - 1))));
        word(bytes(share(parts_.data(), parts_.size())));
        return true;
    }
    std::uint32_t code = phase_if + masked;
    if (mask == 0) code = phase_if;
    else if (ones && count(mask) == 1) code = phase_if + 1 + static_cast<std::uint32_t>(lowest(mask));
    return under_a_bit(item, code, acting(mask, value, 0, in_order));
}

// Writes an item without reads whose parts have been made, under a condition on at most one bit outside the tile; returns
// whether it is under one.
bool ProgramWriter::under_a_bit(const Item& item, std::uint32_t code, std::uint32_t which) {
    std::uint32_t beyond[4], inner = condition(item, beyond);
    if (item.num_reads || !is_bit_or_none(beyond)) return false;
    word(code | with_bit(inner, beyond));
    word(bytes(share(parts_.data(), parts_.size())));
    word(beyond[0]), word(beyond[1]);
    word(which);
    return true;
}

// Writes each register's factor, where only register bits are read.
void ProgramWriter::factors(const Item& item, std::uint32_t which) {
    auto read_in = columns(item);
    Int takes[2 * registers];
    for (std::uint32_t r = 0; r < registers; ++r) {
        Mask entry = 0;
        for (int k = 0; k < register_bits; ++k) entry ^= r >> k & 1 ? read_in[k] : 0;
        bool acts = which >> r & 1;
        takes[2 * r] = acts ? 2 * (item.slot + static_cast<Int>(entry)) : constant(1);
        takes[2 * r + 1] = acts ? takes[2 * r] + 1 : constant(0);
    }
    word(factors_op);
    word(static_cast<std::uint32_t>(share(takes, 2 * registers)));
}

void ProgramWriter::permute(const Item& item) {
    std::vector<int> mixed = mixed_of(item);
    const Index* to = context_.values.data() + item.to;
    std::uint32_t mask = within(static_cast<Mask>(item.when_mask), register_bit_);
    std::uint32_t value = within(static_cast<Mask>(item.when_value), register_bit_);
    if (mixed.size() == 1) {
        if (to[0] == 0) return;
        std::uint32_t beyond[4], inner = condition(item, beyond);
        if (bodies_ && !inner && count(mask) == 1 && mask == value) return cx(lowest(mask), mixed[0]);
        if (bodies_ && !mask && is_bit_or_none(beyond)) {
            word((flip_if + static_cast<std::uint32_t>(mixed[0])) | with_bit(inner, beyond));
            word(beyond[0]), word(beyond[1]);
            return;
        }
        word((flip_op + static_cast<std::uint32_t>(mixed[0])) | inner);
        word(0);
        for (std::uint32_t half : beyond) word(half);
        word(acting(mask, value, 1u << mixed[0], in_order));
        return;
    }
    std::uint32_t source[registers], taken = 0;
    for (int bit : mixed) taken |= 1u << bit;
    for (std::uint32_t r = 0; r < registers; ++r) source[r] = r;
    for (std::uint32_t r = 0; r < registers; ++r) {
        if ((r & mask) != value) continue;
        std::uint32_t x = 0, target = r & ~taken;
        for (std::size_t k = 0; k < mixed.size(); ++k) x |= (r >> mixed[k] & 1) << k;
        for (std::size_t k = 0; k < mixed.size(); ++k) target |= (to[x] >> k & 1) << mixed[k];
        source[target] = r;
    }
    Mask extra = 0;
    for (std::uint32_t r = 0; r < registers; ++r) extra |= static_cast<Mask>(source[r]) << 4 * r;
    looked_up(item, permute_op, 0, every, false, in_order, 0, extra);
}

// Writes a flip of one register bit under another, together with those right before it.
void ProgramWriter::cx(int control, int target) {
    const std::uint32_t code = 1 + (control < target ? pair_number(control, target) : 6 + pair_number(target, control));
    if (cxs_end_ != out_.words.size() || out_.words[cxs_end_ - 1] >> 28) {
        word(cxs_op), word(0);
        cxs_end_ = out_.words.size();
    }
    std::uint32_t& flips = out_.words[cxs_end_ - 1];
    const int taken = flips ? 8 - __builtin_clz(flips) / 4 : 0;
    flips |= code << 4 * taken;
}

// Returns a condition on thread bits, as an operation's first word has it, whose highest bit says whether there is one
// outside the tile, which is written to `beyond`.
std::uint32_t ProgramWriter::condition(const Item& item, std::uint32_t (&beyond)[4]) const {
    Mask mask = static_cast<Mask>(item.when_mask), value = static_cast<Mask>(item.when_value);
    std::uint32_t inner = within(mask, thread_bit_) << 8 | within(value, thread_bit_) << 16;
    mask &= ~near_, value &= ~near_;
    beyond[0] = static_cast<std::uint32_t>(mask), beyond[1] = static_cast<std::uint32_t>(mask >> 32);
    beyond[2] = static_cast<std::uint32_t>(value), beyond[3] = static_cast<std::uint32_t>(value >> 32);
    return inner | (mask ? 1u << 24 : 0);
}

// For each register bit, and then for each thread bit, the reads in which it is.
std::array<Mask, register_bits + most_thread_bits> ProgramWriter::columns(const Item& item) const {
    std::array<Mask, register_bits + most_thread_bits> found{};
    for (Int k = 0; k < item.num_reads; ++k) {
        Mask read = reads_of(item)[k];
        for (std::size_t j = 0; j < register_bits; ++j) found[j] |= (read >> register_bit_[j] & 1) << k;
        for (std::size_t j = 0; j < thread_bit_.size(); ++j) found[register_bits + j] |= (read >> thread_bit_[j] & 1) << k;
    }
    return found;
}

// Writes an operation under any condition, with any reads.
void ProgramWriter::looked_up(const Item& item, std::uint32_t code, Int at, std::uint32_t which, bool reads,
                              const Order& order, std::uint32_t choice, Mask extra) {
    std::uint32_t beyond[4], inner = condition(item, beyond);
    std::array<Mask, register_bits + most_thread_bits> read_in{};
    if (reads) read_in = columns(item);
    word(code | inner);
    word(static_cast<std::uint32_t>(at));
    for (std::uint32_t half : beyond) word(half);
    word(which);
    std::size_t far = out_.words.size();
    word(0);
    auto pair = [&](Mask low, Mask high) { word(static_cast<std::uint32_t>(low | high << 16)); };
    for (std::size_t k = 0; k < most_thread_bits; k += 2) pair(read_in[register_bits + k], read_in[register_bits + k + 1]);
    for (std::size_t k = 0; k < register_bits; k += 2) pair(read_in[order[k]], read_in[order[k + 1]]);
    word(choice);
    halves(extra);
    for (Int k = 0; reads && k < item.num_reads; ++k)
        if (Mask mask = reads_of(item)[k] & ~near_) {
            halves(mask);
            word(static_cast<std::uint32_t>(k));
            ++out_.words[far];
        }
}

}  // namespace qx::plan
