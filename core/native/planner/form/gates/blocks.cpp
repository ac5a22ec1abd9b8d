// An operation as matrices that selectors choose from.

#include "planner/form/gates/blocks.hpp"

#include <algorithm>

namespace qx::form {

LocalPauli on_wire(int wire, int axis) {
    const std::uint32_t bit = std::uint32_t{1} << wire;
    return {axis == 2 ? 0 : bit, axis == 0 ? 0 : bit, 0};
}

bool multiply(LocalPauli& a, const LocalPauli& b) {
    const LocalPauli c{a.x ^ b.x, a.z ^ b.z, a.reads ^ b.reads};
    const int i = count(a.x & a.z) + count(b.x & b.z) + 2 * count(a.z & b.x) - count(c.x & c.z);
    a = c;
    return i & 2;
}

Blocks::Blocks(const Operation& of) {
    for (int wire = 0; wire < of.mixes; ++wire) mixed.push_back(wire);
    for (int read = 0; read < of.reads + of.controls; ++read) selectors.push_back({0, 0, std::uint32_t{1} << read});
    const std::size_t own = std::size_t{1} << of.reads, area = size() * size();
    entries.resize(number() * area);
    for (std::size_t which = 0; which < number(); ++which) {
        Complex* to = matrix(which);
        if (which >> of.reads == of.values) std::copy_n(of.entries + which % own * area, area, to);
        else
            for (std::size_t k = 0; k < size(); ++k) to[k * (size() + 1)] = 1;
    }
}

bool Blocks::mixes(std::size_t wire, double tolerance, double& left_out) const {
    double most = 0;
    for (std::size_t k = 0; k < entries.size(); ++k) {
        if (!((k / size() ^ k) >> wire & 1)) continue;
        const double moved = std::abs(entries[k]);
        if (moved > tolerance) return true;
        most = std::max(most, moved);
    }
    left_out = most;
    return false;
}

void Blocks::read(std::size_t wire) {
    Blocks out;
    out.mixed = mixed, out.selectors = selectors;
    out.selectors.push_back(on_wire(mixed[wire], 2));
    out.mixed.erase(out.mixed.begin() + static_cast<std::ptrdiff_t>(wire));
    out.entries.resize(entries.size() / 2);
    const auto with = [&](std::size_t rest, std::size_t bit) {
        return (rest >> wire << (wire + 1)) | bit << wire | (rest & ((std::size_t{1} << wire) - 1));
    };
    for (std::size_t which = 0; which < out.number(); ++which)
        for (std::size_t k = 0; k < out.size() * out.size(); ++k) {
            const std::size_t bit = which / number(), row = k / out.size(), column = k % out.size();
            out.matrix(which)[k] = matrix(which % number())[with(row, bit) * size() + with(column, bit)];
        }
    *this = std::move(out);
}

}  // namespace qx::form
