// A sweep as a program of 32-bit words for the interpreter of GPUs: what interpreter_kernels/functions.cu reads.
//
// Everything that can be found out beforehand is found out here: which threads and registers an item concerns, in which
// order the entries of a matrix are, and which body of the kernel runs it. Items without reads, and without conditions on
// threads, have bodies with fixed registers; the others share a few that look everything up.
#pragma once

#include <algorithm>
#include <array>

#include "planner/encode/programs/fragments.hpp"

namespace qx::plan {

constexpr int register_bits = 4, registers = 1 << register_bits, most_thread_bits = 8;

// Where the rows of a sweep's program end, how many threads its blocks have, and how many of a state's bits do not number
// blocks. shared, tables: takes of numbers, as in qsim_ex.kernels.cuda.interpret.packing.
struct ProgramEnd {
    Int words, shared, tables, threads, skipped_bits;
};

// The programs of a plan's sweeps, one behind the other.
struct SweepPrograms {
    std::vector<std::uint32_t> words;
    std::vector<Int> shared, tables;
    std::vector<ProgramEnd> ends;
};

// The places of a tile's positions in one register block: in the number of a register or in the number of a thread.
struct RegisterPlaces {
    std::array<int, register_bits> registers;
    std::vector<int> threads;
};

class ProgramWriter {
  public:
    // real_bytes: of the numbers that kernels compute with. depth: the columns of a matrix whose numbers a warp loads at
    // once. tensor: whether dense blocks run on the tensor cores. bodies: whether there are all bodies, of which the
    // interpreter of derivatives lacks some.
    ProgramWriter(const PlanContext& context, const StepArrays& steps, Int real_bytes, int depth, bool tensor, bool bodies,
                  SweepPrograms& out)
        : context_(context), steps_(steps), real_bytes_(real_bytes), depth_(depth),
          bank_bits_(lowest(static_cast<Mask>(128 / (2 * real_bytes)))), tensor_(tensor), bodies_(bodies), out_(out) {}

    void encode(const Step& sweep);

  private:
    // What a map adds to an index bit outside the tile.
    struct Added {
        int bit;
        Mask mask;
    };
    // The places of a matrix in a tile of so many bits.
    struct SizedPlaces {
        int size;
        FragmentPlaces places;
    };
    // A matrix on one bit: its body for bit 0, and four or eight takes.
    struct Matrix1 {
        std::uint32_t body;
        std::array<Int, 8> takes;
    };
    // What the open layer does to a register bit.
    struct LayerBit {
        const Item *matrix = nullptr, *phase = nullptr;
    };
    using Order = std::array<int, register_bits>;
    using Registers = std::array<Mask, register_bits>;

    void look_at(const Step& sweep);
    std::vector<Portion> register_blocks(const Step& sweep) const;
    bool touches(Mask registers, const int* positions) const;
    RegisterPlaces place(Mask registers, const std::vector<int>& every, bool ordered) const;
    void head(const Step& sweep, const RegisterPlaces& first, const RegisterPlaces& last);
    void in_memory(const RegisterPlaces& places, const std::vector<Mask>& columns);
    void added(const std::vector<Added>& bits);
    void in_tile(const RegisterPlaces& places);
    void of_threads(std::initializer_list<int> first, const std::vector<int>& rest);
    void exchange(const RegisterPlaces& places, const std::vector<const Item*>& blocks);
    void fragments(const Item& item);
    const FragmentPlaces& places_of(const std::array<int, register_bits>& mixed);
    void outside(const Step& sweep);
    void maps(const Step& sweep);
    void enter(const RegisterPlaces& places);

    void item(const Item& item);
    bool commutes_with_layer(const Item& item) const;
    bool joins_layer(const Item& item);
    void close_layer();
    void mix(const Item& item);
    Matrix1 matrix_1(const Item& item) const;
    void parity(const Item& item, std::uint32_t code, const std::vector<Int>& takes);
    bool pair(const Item& item, const std::vector<int>& mixed);
    std::uint32_t in_pair_order(const std::vector<int>& mixed);
    bool phase(const Item& item, std::uint32_t mask, std::uint32_t value);
    bool under_a_bit(const Item& item, std::uint32_t code, std::uint32_t which);
    void cx(int control, int target);
    void three(const std::vector<int>& mixed);
    void fixed_matrix(const Item& item, const std::vector<int>& mixed);
    void any_matrix(const Item& item, const std::vector<int>& mixed);
    void diagonal(const Item& item);
    void factors(const Item& item, std::uint32_t which);
    void permute(const Item& item);
    void looked_up(const Item& item, std::uint32_t code, Int at, std::uint32_t which, bool reads, const Order& order,
                   std::uint32_t choice, Mask extra);

    std::uint32_t condition(const Item& item, std::uint32_t (&beyond)[4]) const;
    std::array<Mask, register_bits + most_thread_bits> columns(const Item& item) const;
    Int share(const Int* takes, std::size_t size);
    Int look_up(const std::vector<Int>& takes);
    void parts_of(const Item& item);
    void reorder(const std::vector<int>& places);

    void word(std::uint32_t value) { out_.words.push_back(value); }
    std::uint32_t bytes(Int place) const { return static_cast<std::uint32_t>(16 * place); }  // of `share`
    void halves(Mask value) { word(static_cast<std::uint32_t>(value)), word(static_cast<std::uint32_t>(value >> 32)); }
    std::uint32_t hop(int position) const;
    Int constant(int number) const { return 2 * packed_ + number; }
    const Mask* bits_of(const Item& item) const { return context_.words.data() + item.words; }
    const Mask* reads_of(const Item& item) const { return bits_of(item) + 2 * item.num_bits; }
    std::vector<int> mixed_of(const Item& item) const;

    const PlanContext& context_;
    const StepArrays& steps_;
    Int real_bytes_;
    int depth_, bank_bits_;
    bool tensor_, bodies_;
    SweepPrograms& out_;

    std::vector<int> tile_;              // the index bit of each position
    std::vector<Mask> loaded_, stored_;  // what each position flips in memory, where the tile is read and written back
    std::vector<Added> load_adds_, store_adds_;
    Int packed_ = 0;  // how many numbers the sweep is given
    std::size_t first_shared_ = 0, first_table_ = 0;

    // Of the register block under way: the index bits of its registers and threads, and all of them.
    Order register_bit_{};
    std::vector<int> thread_bit_;
    Mask own_ = 0, near_ = 0;

    std::array<LayerBit, register_bits> layer_{};
    Mask layer_mixed_ = 0, layer_phased_ = 0;
    std::size_t cxs_end_ = 0;  // where the words of the last flips under register bits end

    std::vector<Int> parts_, reordered_;  // of one item
    std::vector<SizedPlaces> known_places_;
};

}  // namespace qx::plan
