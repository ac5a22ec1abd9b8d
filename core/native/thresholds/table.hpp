// The numbers at which native code takes another way: qsim_ex.native.thresholds has them, and says what they are.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace qx {

// Such a number, which keeps in mind on which sides it was met: whoever tests both ways asks whether both were taken.
class Threshold {
  public:
    enum Side : unsigned char { within = 1, beyond = 2 };

    using Int = std::int64_t;

    Threshold() = default;
    Threshold(const Threshold& other) : value_(other.value_) {}
    Threshold& operator=(const Threshold& other) { return *this = other.value_; }
    Threshold& operator=(Int value) {
        value_ = value;
        return *this;
    }
    operator Int() const { return value_; }

    // Comparisons of a number of any kind, which is on the left.
    template <class Number>
    friend bool operator>(Number number, const Threshold& most) {
        using Common = std::common_type_t<Number, Int>;
        return most.met(static_cast<Common>(number) > static_cast<Common>(most.value_));
    }
    template <class Number>
    friend bool operator>=(Number number, const Threshold& least) {
        using Common = std::common_type_t<Number, Int>;
        return least.met(static_cast<Common>(number) >= static_cast<Common>(least.value_));
    }
    template <class Number>
    friend bool operator<=(Number number, const Threshold& most) {
        return !(number > most);
    }
    template <class Number>
    friend bool operator<(Number number, const Threshold& least) {
        return !(number >= least);
    }

    // Returns the number, or this one if that is less.
    Int at_most(Int number) const { return number > *this ? value_ : number; }

    // Keeps in mind a side that is known in another way than by a comparison; returns it.
    bool met(bool is_beyond) const {
        unsigned char known = sides(), side = is_beyond ? beyond : within;
        if (!(known & side)) sides_.store(known | side, std::memory_order_relaxed);
        return is_beyond;
    }

    unsigned char sides() const { return sides_.load(std::memory_order_relaxed); }
    void forget() { sides_.store(0, std::memory_order_relaxed); }

  private:
    Int value_ = 0;
    mutable std::atomic<unsigned char> sides_ = 0;
};

// clang-format off
#define QX_THRESHOLDS(row) \
    row(window) row(looked_at) row(relabeled) row(parities) row(run_work) row(item_work) row(read_at_once) \
    row(instructions_at_once) row(runs_at_once) row(pieces_at_once) row(left_behind) row(reasons) \
    row(compared_pieces) row(compared_bits) row(frame_conditions) row(scheduled_pieces) row(staged_bits) \
    row(divided_pieces) row(divided_work) row(parity_candidates) row(spared_from) row(alike_bits) row(summed_entries) row(blocks_at_once) \
    row(sweeps_at_once) row(chunk_work) row(chunk_amplitudes) row(chunk_bytes) row(distinct_rows) row(coefficients_at_once) \
    row(written_bytes) row(slice_microseconds) row(past_caches) row(scale_left) row(unmixed_tile) row(code_kilobytes) row(code_bits) row(turned_bits) row(layer_strings) row(layers_asked) \
    row(layers_looked_at) row(items_moved) row(selectors) row(rotations_ahead) \
    row(rotations_looked_at) row(change_microseconds) row(clustered_percent) \
    row(clustered_entries) row(looks) row(looks_parts) row(left_percent) row(block_pieces) row(sparse_pieces) row(sparse_entries) row(pieces_of_three) \
    row(selected_turns) row(phase_pairs) row(pieces_ahead) row(pieces_behind) row(many_pieces) row(evaluated_entries) row(again_entries) \
    row(first_entries) row(piece_entries) row(look_entries) row(short_pieces) row(act_entries) row(all_entries) row(part_entries) \
    row(conditions_of_turns) row(written_products) row(phase_products)
// clang-format on

struct Thresholds {
#define QX_ROW(name) Threshold name;
    QX_THRESHOLDS(QX_ROW)
#undef QX_ROW
};

// Python sets these when it loads the library, and no thread works while a test changes them.
inline Thresholds thresholds;

}  // namespace qx
