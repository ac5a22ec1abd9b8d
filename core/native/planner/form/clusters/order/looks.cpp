// Looks for clusters from either end of a circuit in turns.

#include "planner/form/clusters/order/looks.hpp"

#include <algorithm>
#include <utility>

#include "planner/form/clusters/order/reversed.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

namespace {

// How much pieces are: they, and the turns before them.
std::size_t size_of(const Pieces& of) {
    std::size_t out = of.all.size();
    for (const Piece& piece : of.all)
        out += static_cast<std::size_t>(
            std::count_if(piece.before.begin(), piece.before.end(), [](const Matrix2& one) { return !is_identity(one); }));
    return out;
}

}  // namespace

bool Looks::end(Pieces& left, std::size_t read, bool may_follow) {
    const std::size_t before = std::exchange(size_, size_of(left));
    if (!any() || size_ < size_of(fewest_)) fewest_ = left, fewest_from_end_ = from_end_;
    if (++number_ >= thresholds.looks || !may_follow || size_ == before) return false;
    if (100 * left.all.size() / std::max<std::size_t>(1, read) > thresholds.left_percent) return false;
    from_end_ = !from_end_;
    left = reversed(std::move(left), on_zeros());
    return true;
}

Pieces Looks::result() {
    from_end_ = false;
    return fewest_from_end_ ? reversed(std::move(fewest_), zeros_) : std::move(fewest_);
}

}  // namespace qx::form
