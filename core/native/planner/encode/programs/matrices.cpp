// The operations of a program that multiply by matrices, and the numbers that operations take.

#include "planner/encode/programs/programs.hpp"
#include "planner/encode/programs/words.hpp"

namespace qx::plan {

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

}  // namespace qx::plan
