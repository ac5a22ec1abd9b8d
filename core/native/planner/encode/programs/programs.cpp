// A sweep as a program of 32-bit words for the interpreter of GPUs.

#include "planner/encode/programs/programs.hpp"

#include <numeric>

#include "planner/encode/programs/words.hpp"

namespace qx::plan {

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

}  // namespace qx::plan
