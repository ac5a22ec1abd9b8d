// A sweep as a program of 32-bit words for the interpreter of GPUs.

#include "planner/encode/programs.hpp"

#include <numeric>

namespace qx::plan {

namespace {

// Operations, as in interpreter_kernels/functions.cu; some have a body for each register bit.
enum OpCode : std::uint32_t {
    end_op,
    exchange_op,
    factors_op,
    table_op,
    phase_op,
    flip_op = 16,
    mix_1 = 20,
    real_1 = 24,
    crossed_1 = 28,
    mix_2 = 32,
    crossed_2 = 38,
    block_op = 44,
    any_1 = 45,
    any_2 = 46,
    any_3 = 47,
    any_4 = 48,
    permute_op = 49,
    mix_3 = 50,
    pair_2 = 54,
    flip_if = 64,
    cxs_op = 96,
    phase_if = 97,
    phase_2 = 103,
    parity_op = 109,
    parity_1 = 110,
    choice_1 = 114,
    mix_if = 118,
    layer_op = 128
};

constexpr std::uint32_t layer_real = 1, layer_crossed = 2, layer_mix = 3, layer_phase = 4;
constexpr std::uint32_t pair_real = 256, pair_by_parity = 512;
constexpr std::uint32_t masked = 5;          // of the bodies of `phase_if`, the one that asks for each register
constexpr std::uint32_t any_registers = 11;  // of the bodies of a phase, the one that asks for each register
constexpr std::uint32_t every = (1u << registers) - 1;
constexpr int padding = 60;  // index bits from here up do not exist: they fill the tile of a state of fewer than 4 bits
constexpr int lanes = 4;     // the lowest index bits, which are spread over the lanes of a warp for memory access
constexpr Int quad = 16;     // the bytes that the kernel loads at a time
constexpr int runs_end = 64;
constexpr std::size_t crosses[] = {0, 3, 5, 6, 9, 10, 12, 15};  // the diagonal and the antidiagonal of a 4 x 4 matrix
constexpr std::array<int, register_bits> in_order{0, 1, 2, 3};

struct Swap {
    std::uint32_t flag;
    int low, high;
};
constexpr Swap swaps[] = {{1, 0, 1}, {2, 0, 2}, {4, 0, 3}, {8, 1, 2}, {16, 1, 3}};

// The number of a pair of register bits, low < high.
constexpr std::uint32_t pair_number(int low, int high) {
    return static_cast<std::uint32_t>(low == 0 ? high - 1 : low == 1 ? high + 1 : 5);
}

// A mask of index bits as a mask of the places of `bits`.
template <class Bits>
std::uint32_t within(Mask mask, const Bits& bits) {
    std::uint32_t found = 0;
    for (std::size_t k = 0; mask && k < bits.size(); ++k) found |= static_cast<std::uint32_t>(mask >> bits[k] & 1) << k;
    return found;
}

// The registers at which an item acts as a mask, the bits of their numbers in another order. mask, value: a condition;
// taken: register bits that are mixed, which are 0 in the mask.
std::uint32_t acting(std::uint32_t mask, std::uint32_t value, std::uint32_t taken,
                     const std::array<int, register_bits>& order) {
    std::uint32_t found = 0;
    for (std::uint32_t r = 0; r < registers; ++r) {
        if ((r & mask) != value || r & taken) continue;
        std::uint32_t number = 0;
        for (int k = 0; k < register_bits; ++k) number |= (r >> order[k] & 1) << k;
        found |= 1u << number;
    }
    return found;
}

// The body that multiplies all registers at which a condition holds.
std::uint32_t phase_code(std::uint32_t mask, std::uint32_t value) {
    int ones = count(mask);
    if (mask != value || ones > 2) return phase_op + any_registers;
    if (ones == 0) return phase_op;
    if (ones == 1) return phase_op + 1 + static_cast<std::uint32_t>(lowest(mask));
    return phase_op + 5 + pair_number(lowest(mask), lowest(mask & (mask - 1)));
}

// Whether a condition outside the tile, as `condition` writes it, is on one bit or on none; and what the first word of an
// operation has of it: conditions on threads, and the bit's value.
bool is_bit_or_none(const std::uint32_t (&beyond)[4]) { return count(beyond[0]) + count(beyond[1]) <= 1; }

std::uint32_t with_bit(std::uint32_t inner, const std::uint32_t (&beyond)[4]) {
    return (inner & 0xffff00) | (beyond[2] | beyond[3] ? 1u << 24 : 0);
}

bool is_real(char entry) { return entry == zero || entry == one || entry == minus_one || entry == real; }
bool is_beside(char entry) { return entry == zero || entry == imag; }

// Whether only the diagonal and the antidiagonal of matrices on two bits are not 0, and what these are: a real diagonal with
// real or with imaginary entries beside it, or any.
enum class Cross { none, any, real, imag };

Cross cross_of(Interned::Bytes pattern) {
    bool crossed = true, real = true, beside = true;
    for (std::size_t k = 0; k < pattern.size(); ++k) {
        const std::size_t row = k / 4 % 4, column = k % 4;
        const char entry = pattern[k];
        if (row != column && row + column != 3) crossed &= entry == zero;
        else real &= is_real(entry), beside &= row == column ? is_real(entry) : is_beside(entry);
    }
    return !crossed ? Cross::none : real ? Cross::real : beside ? Cross::imag : Cross::any;
}

template <class Values>
std::size_t index_of(const Values& values, int value) {
    return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

}  // namespace

void ProgramWriter::encode(const Step& sweep) {
    look_at(sweep);
    const std::vector<Portion> parts = register_blocks(sweep);
    std::vector<int> natural(tile_.size()), written(tile_.size());
    std::iota(natural.begin(), natural.end(), 0);
    written = natural;
    std::sort(written.begin(), written.end(), [&](int a, int b) { return stored_[a] < stored_[b]; });
    auto placed = [&](std::size_t part) {
        if (part + 1 == parts.size()) return place(parts[part].registers, written, true);
        return place(parts[part].registers, natural, part == 0);
    };
    RegisterPlaces places = placed(0);
    head(sweep, places, placed(parts.size() - 1));
    std::size_t tables_word = out_.words.size() - 1;
    outside(sweep);
    Int threads = Int{1} << places.threads.size();
    std::vector<const Item*> blocks;  // for the tensor cores, since the last exchange
    for (std::size_t part = 0; part < parts.size(); ++part) {
        const Portion& row = parts[part];
        if (row.block) {
            blocks.push_back(&steps_.items[static_cast<std::size_t>(row.begin)]);
            continue;
        }
        if (part) exchange(places = placed(part), blocks);
        blocks.clear();
        enter(places);
        for (Int k = row.begin; k < row.end; ++k) item(steps_.items[static_cast<std::size_t>(k)]);
        close_layer();
    }
    word(end_op | static_cast<std::uint32_t>(store_adds_.size()) << 8);
    added(store_adds_);
    word(0);  // the kernel loads the word behind an operation's first one before it knows what that is
    out_.words[tables_word] = static_cast<std::uint32_t>((out_.shared.size() - first_shared_) / 2);
    out_.ends.push_back({static_cast<Int>(out_.words.size()), static_cast<Int>(out_.shared.size()),
                         static_cast<Int>(out_.tables.size()), threads,
                         count(static_cast<Mask>(sweep.tile) | static_cast<Mask>(sweep.fresh))});
}

void ProgramWriter::look_at(const Step& sweep) {
    tile_.clear();
    each(static_cast<Mask>(sweep.tile), [&](int bit) { tile_.push_back(bit); });
    maps(sweep);
    for (int bit = padding; tile_.size() < register_bits; ++bit)
        tile_.push_back(bit), loaded_.push_back(unit(bit)), stored_.push_back(unit(bit));
    packed_ = sweep.numbers + sweep.tables;
    first_shared_ = out_.shared.size(), first_table_ = out_.tables.size();
}

// Notes both maps of a sweep; see qsim_ex.steps.Sweep.
void ProgramWriter::maps(const Step& sweep) {
    const Mask *loads = context_.words.data() + sweep.loads, *stores = context_.words.data() + sweep.words;
    const Mask skipped = static_cast<Mask>(sweep.tile) | static_cast<Mask>(sweep.fresh);
    const bool of_tile = sweep.num_bits == static_cast<Int>(tile_.size());  // a map of all bits has more
    auto load = [&](int bit) { return bit < sweep.num_loads ? loads[bit] : unit(bit); };
    auto store = [&](int bit) {
        return !sweep.num_bits ? load(bit) : !of_tile && bit < sweep.num_bits ? stores[bit] : unit(bit);
    };
    loaded_.clear(), stored_.clear(), load_adds_.clear(), store_adds_.clear();
    for (std::size_t k = 0; k < tile_.size(); ++k)
        loaded_.push_back(load(tile_[k])), stored_.push_back(of_tile ? stores[k] : store(tile_[k]));
    for (int bit = 0; bit < static_cast<int>(std::max(sweep.num_loads, of_tile ? 0 : sweep.num_bits)); ++bit) {
        if (skipped >> bit & 1) continue;
        if (Mask mask = load(bit) ^ unit(bit)) load_adds_.push_back({bit, mask});
        if (Mask mask = store(bit) ^ unit(bit)) store_adds_.push_back({bit, mask});
    }
}

// The register blocks of a sweep; some without items are added at the ends if memory access needs them.
std::vector<Portion> ProgramWriter::register_blocks(const Step& sweep) const {
    const Portion empty{0, 0, 0, false};
    std::vector<Portion> found = portions_of(sweep, steps_, context_, tensor_);
    if (found.empty()) found.push_back(empty);
    int begin[lanes], end[lanes];
    if (tile_.size() >= lanes + register_bits) {
        std::vector<int> written(tile_.size());
        std::iota(written.begin(), written.end(), 0);
        std::sort(written.begin(), written.end(), [&](int a, int b) { return stored_[a] < stored_[b]; });
        for (int k = 0; k < lanes; ++k) begin[k] = k, end[k] = written[k];
        bool after = touches(found.back().registers, end);
        if (touches(found.front().registers, begin)) found.insert(found.begin(), empty);
        if (after) found.push_back(empty);
    }
    if (sweep.num_bits && found.size() == 1) found.push_back(empty);
    return found;
}

bool ProgramWriter::touches(Mask registers, const int* positions) const {
    return std::any_of(positions, positions + lanes, [&](int position) { return registers >> tile_[position] & 1; });
}

// Puts register bits into registers, filled up with the highest positions; the others into threads. every: all positions in
// their order in memory. ordered: whether the register block loads or stores, so that threads keep this order.
RegisterPlaces ProgramWriter::place(Mask registers, const std::vector<int>& every, bool ordered) const {
    RegisterPlaces made;
    Mask chosen = 0;
    for (std::size_t position = 0; position < tile_.size(); ++position)
        if (registers >> tile_[position] & 1) chosen |= unit(static_cast<int>(position));
    for (auto position = every.rbegin(); position != every.rend() && count(chosen) < register_bits; ++position)
        chosen |= unit(*position);
    int k = 0;
    each(chosen, [&](int position) { made.registers[k++] = position; });
    std::vector<int> rest;
    for (int position : every)
        if (!(chosen >> position & 1)) rest.push_back(position);
    if (ordered) return made.threads = rest, made;
    // Positions first whose bank bits differ, so that lanes served together use different banks.
    Mask taken = 0;
    for (int bank = 0; bank < bank_bits_; ++bank)
        for (int position : rest)
            if (position % bank_bits_ == bank) {
                made.threads.push_back(position), taken |= unit(position);
                break;
            }
    for (int position : rest)
        if (!(taken >> position & 1)) made.threads.push_back(position);
    return made;
}

void ProgramWriter::head(const Step& sweep, const RegisterPlaces& first, const RegisterPlaces& last) {
    Mask fresh = static_cast<Mask>(sweep.fresh), missing = ~below(padding);
    auto of_threads = [&](Mask mask) {
        std::uint32_t found = 0;
        for (std::size_t k = 0; k < first.threads.size(); ++k)
            found |= static_cast<std::uint32_t>(mask >> tile_[first.threads[k]] & 1) << k;
        return found;
    };
    auto of_registers = [&](Mask mask, const RegisterPlaces& places) {
        std::uint32_t found = 0;
        for (int k = 0; k < register_bits; ++k)
            found |= static_cast<std::uint32_t>(mask >> tile_[places.registers[k]] & 1) << k;
        return acting(found, 0, 0, in_order);
    };
    word(static_cast<std::uint32_t>(load_adds_.size()) << 8);  // and the runs, which `outside` counts
    word(of_threads(fresh));
    word(of_registers(missing | fresh, first));
    word(of_registers(missing, last));
    in_memory(first, loaded_);
    in_memory(last, stored_);
    in_tile(first);
    word(0);  // where tables begin, which is known at the end
}

// Writes what each thread bit and each register bit adds to a place in memory.
void ProgramWriter::in_memory(const RegisterPlaces& places, const std::vector<Mask>& columns) {
    for (std::size_t k = 0; k < most_thread_bits; ++k) halves(k < places.threads.size() ? columns[places.threads[k]] : 0);
    for (int position : places.registers) halves(tile_[position] < padding ? columns[position] : 0);
}

// Writes what a map adds to bits outside the tile.
void ProgramWriter::added(const std::vector<Added>& bits) {
    for (const Added& one : bits) word(static_cast<std::uint32_t>(one.bit)), halves(one.mask);
}

// Writes what each thread bit and each register bit adds to a slot of shared memory, in bytes.
void ProgramWriter::in_tile(const RegisterPlaces& places) {
    of_threads({}, places.threads);
    for (int position : places.registers) word(hop(position));
}

// Writes what each thread bit adds to a slot; first, rest: the positions of these bits.
void ProgramWriter::of_threads(std::initializer_list<int> first, const std::vector<int>& rest) {
    for (int position : first) word(hop(position));
    for (int position : rest) word(hop(position));
    for (std::size_t k = first.size() + rest.size(); k < most_thread_bits; ++k) word(0);
}

// Writes a change of places, with the matrices that the tensor cores multiply on the way.
void ProgramWriter::exchange(const RegisterPlaces& places, const std::vector<const Item*>& blocks) {
    word(exchange_op | static_cast<std::uint32_t>(blocks.size()) << 8);
    for (const Item* block : blocks) fragments(*block);
    in_tile(places);
}

// Writes a matrix for the tensor cores, with its numbers in the order in which lanes load them.
void ProgramWriter::fragments(const Item& item) {
    std::array<int, register_bits> mixed;
    for (int k = 0; k < register_bits; ++k) mixed[k] = static_cast<int>(index_of(tile_, lowest(bits_of(item)[k])));
    const FragmentPlaces& places = places_of(mixed);
    const auto entries = places.entries(depth_);
    std::array<Int, 512> takes;
    parts_of(item);
    for (std::size_t k = 0; k < 256; ++k)
        for (std::size_t part = 0; part < 2; ++part)
            takes[256 * part + k] = parts_[2 * static_cast<std::size_t>(entries[k]) + part];
    word(static_cast<std::uint32_t>(share(takes.data(), takes.size())));
    const auto &columns = places.columns, &rows = places.rows;
    const auto& groups = places.groups;
    of_threads({columns[0], columns[1], groups[0], groups[1], groups[2]}, places.warps);
    of_threads({groups[1], groups[2], rows[0], rows[1], rows[2]}, places.warps);
    for (int position : {columns[2], columns[3], groups[0], rows[3], places.loops[0], places.loops[1]}) word(hop(position));
}

// Returns the places of a matrix, which many matrices of a plan share: the search takes longer than all else about one.
const FragmentPlaces& ProgramWriter::places_of(const std::array<int, register_bits>& mixed) {
    const int size = static_cast<int>(tile_.size());
    for (const SizedPlaces& known : known_places_)
        if (known.size == size && known.places.mixed == mixed) return known.places;
    known_places_.push_back({size, fragment_places(mixed, size, bank_bits_)});
    return known_places_.back().places;
}

// The slot of a position: higher groups of bits are XORed into the lowest, the bank.
std::uint32_t ProgramWriter::hop(int position) const {
    Mask slot = unit(position), low = below(bank_bits_);
    for (Mask rest = slot >> bank_bits_; rest; rest >>= bank_bits_) slot ^= rest & low;
    return static_cast<std::uint32_t>(slot * static_cast<Mask>(2 * real_bytes_));
}

// Maps a block's number to the index bits outside the tile that are not fresh; the last run has no end.
void ProgramWriter::outside(const Step& sweep) {
    constexpr std::size_t words_before = 65;
    std::size_t head = out_.words.size() - words_before;
    Mask skipped = static_cast<Mask>(sweep.tile) | static_cast<Mask>(sweep.fresh);
    int top = skipped ? 64 - __builtin_clzll(skipped) : 0, source = 0;
    auto run = [&](int from, int target, int length) {
        word(static_cast<std::uint32_t>(from | target << 8 | length << 16));
        ++out_.words[head];
    };
    for (int bit = 0; bit < top;) {
        if (skipped >> bit & 1) {
            ++bit;
            continue;
        }
        int length = lowest(skipped >> bit);
        run(source, bit, length);
        source += length, bit += length;
    }
    run(top - count(skipped), top, runs_end);
    added(load_adds_);
}

void ProgramWriter::enter(const RegisterPlaces& places) {
    own_ = 0;
    for (int k = 0; k < register_bits; ++k) register_bit_[k] = tile_[places.registers[k]], own_ |= unit(register_bit_[k]);
    near_ = own_;
    thread_bit_.clear();
    for (int position : places.threads) thread_bit_.push_back(tile_[position]), near_ |= unit(tile_[position]);
}

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

std::vector<int> ProgramWriter::mixed_of(const Item& item) const {
    std::vector<int> mixed;
    for (Int k = 0; k < item.num_bits; ++k)
        mixed.push_back(static_cast<int>(index_of(register_bit_, lowest(bits_of(item)[k]))));
    return mixed;
}

// Appends numbers that all amplitudes share, padded to what is loaded at a time; returns where they begin, counted in that.
Int ProgramWriter::share(const Int* takes, std::size_t size) {
    const std::size_t together = static_cast<std::size_t>(quad / real_bytes_);
    Int at = static_cast<Int>((out_.shared.size() - first_shared_) / together);
    out_.shared.insert(out_.shared.end(), takes, takes + size);
    while ((out_.shared.size() - first_shared_) % together) out_.shared.push_back(constant(0));
    return at;
}

// Appends entries of a table; returns the number of the first.
Int ProgramWriter::look_up(const std::vector<Int>& takes) {
    Int at = static_cast<Int>(out_.tables.size() - first_table_) / 2;
    out_.tables.insert(out_.tables.end(), takes.begin(), takes.end());
    return at;
}

// Makes the takes of both parts of every entry of an item; with reads every entry has a number.
void ProgramWriter::parts_of(const Item& item) {
    Interned::Bytes pattern = context_.patterns[static_cast<Index>(item.pattern)];
    parts_.clear();
    Int number = item.slot;
    for (char entry : pattern) {
        if (item.num_reads || numbered(entry)) {
            parts_.push_back(2 * number), parts_.push_back(2 * number + 1);
            ++number;
        } else {
            parts_.push_back(constant(entry == zero ? 0 : entry == one ? 1 : 2)), parts_.push_back(constant(0));
        }
    }
}

// Reorders the parts of matrices so that their bit k is at place places[k]: rows and columns.
void ProgramWriter::reorder(const std::vector<int>& places) {
    std::size_t size = std::size_t{1} << places.size();
    std::size_t old[registers];
    for (std::size_t row = 0; row < size; ++row) {
        std::size_t to = 0;
        for (std::size_t k = 0; k < places.size(); ++k) to |= (row >> k & 1) << places[k];
        old[to] = row;
    }
    reordered_.resize(parts_.size());
    for (std::size_t begin = 0; begin < parts_.size(); begin += 2 * size * size)
        for (std::size_t i = 0; i < size; ++i)
            for (std::size_t j = 0; j < size; ++j) {
                const Int* from = &parts_[begin + 2 * (old[i] * size + old[j])];
                std::copy(from, from + 2, &reordered_[begin + 2 * (i * size + j)]);
            }
    parts_.swap(reordered_);
}

void ProgramWriter::mix(const Item& item) {
    std::vector<int> mixed = mixed_of(item);
    parts_of(item);
    if (bodies_ && item.num_reads <= 1 && !item.when_mask) {
        if (mixed.size() == 2 && pair(item, mixed)) return;
        if (mixed.size() == 1 && item.num_reads)
            return parity(item, parity_1 + static_cast<std::uint32_t>(mixed[0]), parts_);
    }
    if (item.num_reads || item.when_mask || (mixed.size() == 3 && !bodies_)) return any_matrix(item, mixed);
    if (mixed.size() == 3) return three(mixed);
    fixed_matrix(item, mixed);
}

// Returns the body and the takes of a matrix on one bit, whose parts have been made.
ProgramWriter::Matrix1 ProgramWriter::matrix_1(const Item& item) const {
    Interned::Bytes pattern = context_.patterns[static_cast<Index>(item.pattern)];
    if (std::all_of(pattern.begin(), pattern.end(), is_real)) return {real_1, {parts_[0], parts_[2], parts_[4], parts_[6]}};
    if (is_real(pattern[0]) && is_real(pattern[3]) && is_beside(pattern[1]) && is_beside(pattern[2]))
        return {crossed_1, {parts_[0], parts_[pattern[1] == imag ? 3 : 2], parts_[pattern[2] == imag ? 5 : 4], parts_[6]}};
    Matrix1 found{mix_1, {}};
    std::copy(parts_.begin(), parts_.end(), found.takes.begin());
    return found;
}

// Writes an item that is one of two by a parity of bits; takes: the numbers of both.
void ProgramWriter::parity(const Item& item, std::uint32_t code, const std::vector<Int>& takes) {
    const Mask read = reads_of(item)[0];
    const std::uint32_t own = within(read, register_bit_);
    std::uint32_t inverted = 0;
    for (std::uint32_t r = 0; r < registers; ++r) inverted |= static_cast<std::uint32_t>(count(r & own) & 1) << r;
    word(code | inverted << 16);
    word(bytes(share(takes.data(), takes.size())));
    word(within(read, thread_bit_));
    halves(read & ~near_);
}

// Writes a matrix on two bits whose numbers are a few reals, or one of two such by a parity; returns whether it is one.
bool ProgramWriter::pair(const Item& item, const std::vector<int>& mixed) {
    const Cross cross = cross_of(context_.patterns[static_cast<Index>(item.pattern)]);
    if (cross != Cross::real && cross != Cross::imag) return false;
    const std::uint32_t code = pair_2 + in_pair_order(mixed) | (cross == Cross::real ? pair_real : 0);
    std::vector<Int> takes;
    for (std::size_t begin = 0; begin < parts_.size(); begin += 32)
        for (std::size_t k : crosses) takes.push_back(parts_[begin + 2 * k + (cross == Cross::imag && k % 5)]);
    if (item.num_reads) {
        parity(item, code | pair_by_parity, takes);
    } else {
        word(code);
        word(bytes(share(takes.data(), takes.size())));
    }
    return true;
}

// Reorders the parts of matrices on two register bits so that these ascend; returns the number of the pair.
std::uint32_t ProgramWriter::in_pair_order(const std::vector<int>& mixed) {
    const bool swapped = mixed[0] > mixed[1];
    reorder({swapped, !swapped});
    return pair_number(mixed[swapped], mixed[!swapped]);
}

// Writes a matrix on three bits. Its body has the register bit that is left as the highest.
void ProgramWriter::three(const std::vector<int>& mixed) {
    std::uint32_t left = 0;
    while (std::find(mixed.begin(), mixed.end(), static_cast<int>(left)) != mixed.end()) ++left;
    std::vector<int> places;
    for (int bit : mixed) places.push_back(bit == register_bits - 1 ? static_cast<int>(left) : bit);
    reorder(places);
    word(mix_3 + left);
    word(static_cast<std::uint32_t>(share(parts_.data(), parts_.size())));
}

// Writes a matrix without reads and conditions, on one, two or four bits, for a body with fixed registers.
void ProgramWriter::fixed_matrix(const Item& item, const std::vector<int>& mixed) {
    auto write = [&](std::uint32_t code, const std::vector<Int>& takes) {
        word(code);
        word(static_cast<std::uint32_t>(share(takes.data(), takes.size())));
    };
    if (mixed.size() == 1) {
        const Matrix1 found = matrix_1(item);
        word(found.body + static_cast<std::uint32_t>(mixed[0]));
        word(static_cast<std::uint32_t>(share(found.takes.data(), found.body == mix_1 ? 8 : 4)));
        return;
    }
    if (mixed.size() == register_bits) return reorder(mixed), write(block_op, parts_);
    const std::uint32_t pair = in_pair_order(mixed);
    if (cross_of(context_.patterns[static_cast<Index>(item.pattern)]) == Cross::none) return write(mix_2 + pair, parts_);
    std::vector<Int> takes;
    for (std::size_t k : crosses) takes.push_back(parts_[2 * k]), takes.push_back(parts_[2 * k + 1]);
    return write(crossed_2 + pair, takes);
}

// Writes a matrix under any condition, with any reads.
void ProgramWriter::any_matrix(const Item& item, const std::vector<int>& mixed) {
    const std::uint32_t mask = within(static_cast<Mask>(item.when_mask), register_bit_);
    const std::uint32_t value = within(static_cast<Mask>(item.when_value), register_bit_);
    Order order = in_order;
    if (bodies_ && mixed.size() == 1) {
        const std::uint32_t body = static_cast<std::uint32_t>(mixed[0]), which = acting(mask, value, 1u << body, order);
        if (under_a_bit(item, mix_if + body, which)) return;
        return looked_up(item, choice_1 + body, look_up(parts_), which, true, order, 0, 0);
    }
    std::uint32_t code, choice = 0, taken = 0;
    Mask extra = 0;
    for (int bit : mixed) taken |= 1u << bit;
    if (mixed.size() > 2) {
        code = mixed.size() == 3 ? any_3 : any_4;
        choice = static_cast<std::uint32_t>(mixed.size());
        for (std::size_t k = 0; k < mixed.size(); ++k) extra |= static_cast<Mask>(mixed[k]) << 4 * k;
    } else {
        code = mixed.size() == 1 ? any_1 : any_2;
        int size = static_cast<int>(mixed.size());
        std::vector<int> left = mixed, places;
        for (const Swap& swap : swaps) {
            auto high = std::find(left.begin(), left.end(), swap.high);
            if (high == left.end() || index_of(left, swap.low) < left.size() || swap.low >= size || size > swap.high)
                continue;
            order[swap.low] = swap.high, order[swap.high] = swap.low;
            choice |= swap.flag;
            *high = swap.low;
        }
        for (int bit : mixed) places.push_back(static_cast<int>(index_of(order, bit)));
        reorder(places);
    }
    Int at = look_up(parts_);
    looked_up(item, code, at, acting(mask, value, taken, order), true, order, choice, extra);
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
