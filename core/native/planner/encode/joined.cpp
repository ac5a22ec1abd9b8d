// Matrices of one kind on a row bit each that follow each other, and are done together.

#include "planner/encode/joined.hpp"

#include <algorithm>

namespace qx::plan {

void JoinedMatrices::add(int position) {
    const std::size_t here = instructions_.size() - 1;
    const Mask free = rows_.all() & ~unit(position);
    const bool is_next = here == first_ + free_.size() && instructions_[here].kind == instructions_[first_].kind;
    if (!is_next || std::ranges::find(free_, free) != free_.end()) {  // another kind, or the same bit again
        close();
        first_ = here;
    }
    free_.push_back(free);
}

void JoinedMatrices::close() {
    const std::size_t all = free_.size(), most = rows_.bytes() == 128 ? static_cast<std::size_t>(most_joined) : 2;
    for (std::size_t done = 0, count; done < all; done += count) {
        count = std::min(all - done, most);
        if (count == 3 && all - done == 4) count = 2;
        Mask free = ~Mask{0};
        for (std::size_t k = done; k < done + count; ++k) free &= free_[k];
        qx::Instruction& first = instructions_[first_ + done];
        first.size = static_cast<Half>(count);
        first.columns = static_cast<Half>(rows_.frame().moved ? rows_.steps(free) : -1);
    }
    free_.clear();
}

}  // namespace qx::plan
