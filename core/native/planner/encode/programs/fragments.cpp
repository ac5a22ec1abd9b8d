// Dense matrices on four bits for the tensor cores.

#include "planner/encode/programs/fragments.hpp"

#include <algorithm>

namespace qx::plan {

namespace {

constexpr int worth = 32;  // multiply-adds per amplitude from which a matrix is faster on the tensor cores

bool is_block(const Item& item, const PlanContext& context) {
    if (static_cast<Kind>(item.kind) != Kind::mix || item.num_reads || item.when_mask || item.num_bits != 4) return false;
    int reals = 0;
    for (char entry : context.patterns[static_cast<Index>(item.pattern)])
        reals += entry == complex_ ? 2 : entry == real || entry == imag;
    return 2 * reals >> 4 > worth;
}

// Appends a register block, merged with the last if one of the two needs no register bits.
void append(std::vector<Portion>& found, const Portion& part) {
    Portion* last = found.empty() ? nullptr : &found.back();
    if (last && !last->block && !(last->registers && part.registers)) {
        last->registers |= part.registers;
        if (part.begin != part.end) last->begin = last->begin == last->end ? part.begin : last->begin, last->end = part.end;
    } else if (part.begin != part.end) {
        found.push_back(part);
    }
}

// A mixed position's place in a number whose bits are some positions.
template <std::size_t N>
int place_of(const std::array<int, N>& positions, int position) {
    return static_cast<int>(std::find(positions.begin(), positions.end(), position) - positions.begin());
}

// The index whose bits are `mixed`, of the number whose bits are `order`.
int value(const std::array<int, 4>& mixed, const std::array<int, 4>& order, int number) {
    int found = 0;
    for (std::size_t k = 0; k < 4; ++k) found |= (number >> k & 1) << place_of(mixed, order[k]);
    return found;
}

// How many of the lanes that are served together meet others in a bank.
int conflicts(int bank_bits, std::initializer_list<int> lanes) {
    Mask banks = 0;
    for (auto lane = lanes.begin(); lane != lanes.begin() + bank_bits; ++lane) banks |= unit(*lane % bank_bits);
    return bank_bits - count(banks);
}

// Returns the first order of four positions for which `cost` is least.
template <class Cost>
std::array<int, 4> best_order(const std::array<int, 4>& positions, int& least, Cost cost) {
    std::array<int, 4> numbers{0, 1, 2, 3}, order{}, best{};
    least = 1 << 20;
    do {
        for (std::size_t k = 0; k < 4; ++k) order[k] = positions[static_cast<std::size_t>(numbers[k])];
        if (int found = cost(order); found < least) least = found, best = order;
    } while (least && std::next_permutation(numbers.begin(), numbers.end()));
    return best;
}

}  // namespace

std::vector<Portion> portions_of(const Step& sweep, const StepArrays& steps, const PlanContext& context, bool tensor) {
    std::vector<Portion> whole, found;
    bool any = false;
    for (Int k = sweep.begin; k < sweep.end; ++k) {
        const RegisterBlock& block = steps.register_blocks[static_cast<std::size_t>(k)];
        whole.push_back({static_cast<Mask>(block.registers), block.begin, block.end, false});
    }
    auto dense = [&](Int item) { return is_block(steps.items[static_cast<std::size_t>(item)], context); };
    tensor = tensor && static_cast<std::size_t>(count(static_cast<Mask>(sweep.tile))) >= smallest_tile;
    for (const Portion& part : whole)
        for (Int k = part.begin; tensor && k < part.end; ++k) any = any || dense(k);
    if (!any) return whole;
    for (const Portion& part : whole) {
        Int begin = part.begin;
        bool split = false;
        auto others = [&](Int end) {  // diagonals need no register bits
            bool mixes = false;
            for (Int k = begin; k < end; ++k)
                mixes = mixes || static_cast<Kind>(steps.items[static_cast<std::size_t>(k)].kind) != Kind::diagonal;
            append(found, {mixes || !split ? part.registers : 0, begin, end, false});
        };
        for (Int k = part.begin; k < part.end; ++k) split = split || dense(k);
        for (Int k = part.begin; k < part.end; ++k) {
            if (!dense(k)) continue;
            others(k);
            found.push_back({part.registers, k, k + 1, true});
            begin = k + 1;
        }
        others(part.end);
    }
    if (found.front().block) found.insert(found.begin(), Portion{0, found.front().begin, found.front().begin, false});
    if (found.back().block) found.push_back({0, found.back().end, found.back().end, false});
    return found;
}

std::array<int, 256> FragmentPlaces::entries(int depth) const {
    std::array<int, 256> found{};
    std::array<int, 16> row_of{}, column_of{};
    for (int number = 0; number < 16; ++number)
        row_of[number] = value(mixed, rows, number), column_of[number] = value(mixed, columns, number);
    std::size_t at = 0;
    for (int step = 0; step < 16 / depth; ++step)
        for (int lane = 0; lane < 32; ++lane)
            for (int number = 0; number < depth / 2; ++number) {
                int row = (lane >> 2) + 8 * (number & 1), column = depth * step + (lane & 3) + 4 * (number >> 1);
                found[at++] = 16 * row_of[row] + column_of[column];
            }
    return found;
}

FragmentPlaces fragment_places(const std::array<int, 4>& mixed, int size, int bank_bits) {
    std::vector<int> others;
    for (int position = 0; position < size; ++position)
        if (place_of(mixed, position) == 4) others.push_back(position);
    FragmentPlaces best{};
    best.mixed = mixed;
    int least = 2 * bank_bits;
    auto attempt = [&](int a, int b, int c) {
        int reading, writing;
        auto columns =
            best_order(mixed, reading, [&](const auto& p) { return conflicts(bank_bits, {p[0], p[1], a, b, c}); });
        auto rows =
            best_order(mixed, writing, [&](const auto& p) { return conflicts(bank_bits, {b, c, p[0], p[1], p[2]}); });
        if (reading + writing >= least) return;
        least = reading + writing;
        best.columns = columns, best.rows = rows, best.groups = {a, b, c};
    };
    for (int a : others)
        for (int b : others)
            for (int c : others)
                if (least && a != b && a != c && b != c) attempt(a, b, c);
    std::vector<int> rest;
    for (int position : others)
        if (place_of(best.groups, position) == 3) rest.push_back(position);
    best.loops = {rest[0], rest[1]};
    best.warps.assign(rest.begin() + 2, rest.end());
    return best;
}

}  // namespace qx::plan
