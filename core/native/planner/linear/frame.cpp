// From work on index bits to work on directions and parities.

#include "planner/linear/frame.hpp"

#include "thresholds/table.hpp"

namespace qx::plan {

void Frame::cx(int control, int target, bool value) {
    parities[at(target)] ^= parities[at(control)];
    directions[at(control)] ^= directions[at(target)];
    flip ^= ((flip >> control & 1) ^ Mask{!value}) << target;
}

bool changes_frame(const Piece& piece, const PlanContext& context) {
    if (piece.kind != Kind::permute || piece.num_mixed != 1 || count(piece.when.mask) > 1) return false;
    const Index* to = context.values.data() + piece.to;
    return to[0] == 1 && to[1] == 0;
}

FramedWork::FramedWork(const std::vector<Piece>& work, int num_bits, const PlanContext& context, bool grows)
    : frame(num_bits), grows_(grows) {
    for (const Piece& piece : work) {
        fits_ = add(piece, context);
        if (!fits_) return;
    }
}

bool FramedWork::add(Piece piece, const PlanContext& context) {
    if (!piece.in_a_sweep()) return false;
    if (grows_ && piece.when.mask && !holds(piece)) return true;
    if (!changes_frame(piece, context)) return put(piece, context);
    int target = context.bit(piece, 0);
    if (piece.when.mask) frame.cx(lowest(piece.when.mask), target, piece.when.value != 0);
    else frame.flip ^= unit(target);
    return true;
}

// Writes a piece of work in the frame as it is; false if it has too many conditions on sums.
bool FramedWork::put(const Piece& piece, const PlanContext& context) {
    Framed out;
    out.piece = piece, out.first = static_cast<std::uint32_t>(words_.size());
    auto parity = [&](Mask mask) {
        words_.push_back(mask);
        out.read |= mask;
    };
    for (int k = 0; k < piece.num_mixed; ++k) {
        Mask direction = frame.directions[at(context.bit(piece, k))];
        words_.push_back(direction);
        out.moved |= direction;
        mixed_.add(direction);
    }
    for (int k = 0; k < piece.num_mixed; ++k) {
        int bit = context.bit(piece, k);
        parity(frame.parities[at(bit)]);
        out.flips |= (frame.flip >> bit & 1) << k;
    }
    for (int k = 0; k < piece.num_reads; ++k) {
        Mask read = context.reads(piece)[k];
        parity(image(frame.parities, read));
        out.read_flips |= Mask{is_odd(read & frame.flip)} << k;
    }
    int sums = 0;
    each(piece.when.mask, [&](int bit) {
        Mask mask = frame.parities[at(bit)];
        parity(mask);
        out.values |= ((piece.when.value ^ frame.flip) >> bit & 1) << out.num_conditions++;
        sums += (mask & (mask - 1)) != 0;
    });
    for (int k = 0; k < piece.num_mixed; ++k) words_.push_back(static_cast<Mask>(context.bit(piece, k)));
    pieces_.push_back(out);
    return sums <= thresholds.frame_conditions;
}

void FramedWork::turn_back(PlanContext& context) {
    if (!frame.flip) return;
    Framed out;
    int bit = highest(frame.flip);
    out.piece.kind = Kind::permute, out.piece.pattern = context.patterns.of({}), out.piece.label = context.labels.of("x");
    out.piece.to = static_cast<Index>(context.values.size());
    context.values.push_back(1), context.values.push_back(0);
    context.put(out.piece, &bit, 1, nullptr, 0);
    out.first = static_cast<std::uint32_t>(words_.size()), out.moved = image(frame.directions, frame.flip);
    words_.insert(words_.end(), {out.moved, 0, static_cast<Mask>(bit)});  // it is no matter which of a pair is which
    pieces_.push_back(out);
    frame.flip = 0;
}

// Leaves of a piece's condition what is not known yet, where all directions that were mixed are; returns whether it can
// hold.
bool FramedWork::holds(Piece& piece) const {
    Mask zero = 0;
    each(piece.when.mask, [&](int bit) {
        bool even = true;
        for (Mask vector : mixed_.vectors) even = even && !is_odd(frame.parities[at(bit)] & vector);
        zero |= Mask{even} << bit;
    });
    if ((piece.when.value ^ frame.flip) & zero) return false;
    piece.work *= static_cast<double>(unit(count(zero)));
    piece.when = {piece.when.mask & ~zero, piece.when.value & ~zero};
    return true;
}

}  // namespace qx::plan
