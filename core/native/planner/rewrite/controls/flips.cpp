// For which values of other bits known phases between two H flip a bit, and the X under conditions that does so.

#include "planner/rewrite/controls/flips.hpp"

#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

constexpr Index zero_at = 0, one_at = 1;  // the places of the numbers 0 and 1
constexpr int half = eighths_of_turn / 2;

}  // namespace

void Flips::show(const Piece& phase, const Shift& shift, const PlanContext& context) {
    for (int k = 0; k < phase.num_reads; ++k) span_.add(read_of(context.reads(phase)[k], shift));
    each(phase.when.mask, [&](int other) { span_.add(read_of(unit(other), shift)); });
}

void Flips::show(int turns, const Shift& shift) {
    if (turns) span_.add(shift.mask);
}

bool Flips::fits() {
    if (span_.size() > thresholds.parities) return false;
    turns_.assign(std::size_t{1} << span_.size(), first_);
    return true;
}

void Flips::add(const Piece& phase, const Shift& shift, const PlanContext& context) {
    Interned::Bytes of = context.patterns[phase.pattern];
    struct Read {
        Mask made, has;
    };
    auto read = [&](Mask mask) { return Read{span_.reduced(read_of(mask, shift)).made, mask >> bit_ & 1}; };
    std::vector<Read> reads, under;
    for (int k = 0; k < phase.num_reads; ++k) reads.push_back(read(context.reads(phase)[k]));
    each(phase.when.mask, [&](int other) { under.push_back(read(unit(other))); });
    for (Mask x = 0; x < turns_.size(); ++x)
        for (Mask value = 0; value < 2; ++value) {
            auto parity = [&](const Read& of) { return is_odd(of.made & x) ^ (of.has & (value ^ Mask{shift.inverted})); };
            bool holds = true;
            std::size_t k = 0, entry = 0;
            each(phase.when.mask,
                 [&](int other) { holds = holds && parity(under[k++]) == (phase.when.value >> other & 1); });
            for (k = 0; k < reads.size(); ++k) entry |= parity(reads[k]) << k;
            if (holds) turns_[x] += value ? eighths(of[entry]) : -eighths(of[entry]);
        }
}

void Flips::add(int turns, const Shift& shift) {
    if (!turns) return;
    Mask made = span_.reduced(shift.mask).made;
    for (Mask x = 0; x < turns_.size(); ++x) turns_[x] += is_odd(made & x) != shift.inverted ? -turns : turns;
}

bool Flips::found() {
    for (std::size_t x = 0; x < turns_.size(); ++x) {
        if (turns_[x] % half) return false;
        flips_ |= (turns_[x] & half ? 1u : 0u) << x;
    }
    return true;
}

bool Flips::x(Index label, PlanContext& context, Piece& out) const {
    if (!flips_) return false;
    const Vectors& parities = span_.vectors;
    Mask least = static_cast<Mask>(lowest(flips_));
    Span apart;
    each(flips_, [&](int value) { apart.add(static_cast<Mask>(value) ^ least); });
    if (count(flips_) != 1 << apart.size()) {
        out = selected(parities, flips_, label, context);
        return true;
    }
    Map columns;  // what these make 0 are the parities that are 0 for all of `apart`
    for (int k = 0; k < span_.size(); ++k) {
        Mask column = 0;
        for (std::size_t j = 0; j < apart.vectors.size(); ++j) column |= (apart.vectors[j] >> k & 1) << j;
        columns.push_back(column);
    }
    Basis basis;
    for (Mask mask : kernel(columns)) basis.add(image(parities, mask));
    bool plain = true;
    unsigned number = 0;
    int k = 0;
    When when;
    for (Mask mask : basis) {
        bool value = is_odd(span_.reduced(mask).made & least);
        plain = plain && count(mask) == 1;
        number |= static_cast<unsigned>(value) << k++;
        when.mask |= mask, when.value |= value ? mask : 0;
    }
    if (!plain) {
        out = selected({basis.begin(), basis.end()}, 1u << number, label, context);
        return true;
    }
    constexpr char flip[] = {zero, one, one, zero};
    out = Piece();
    out.kind = Kind::permute, out.label = label, out.when = when;
    out.pattern = context.patterns.of({flip, 4});
    out.to = static_cast<Index>(context.values.size());
    context.values.insert(context.values.end(), {1, 0});
    context.put(out, &bit_, 1, nullptr, 0);
    return true;
}

// An X that some values of parities select, as a matrix for each value.
Piece Flips::selected(const Vectors& parities, unsigned flips, Index label, PlanContext& context) const {
    std::vector<char> classes;
    for (int x = 0; x < 1 << parities.size(); ++x)
        for (int entry = 0; entry < 4; ++entry) {
            bool flipped = entry == 1 || entry == 2;
            classes.push_back(flipped == (flips >> x & 1) ? one : zero);
        }
    Piece out;
    out.kind = Kind::mix, out.label = label;
    out.pattern = context.patterns.of({classes.data(), classes.size()});
    out.source = {0, static_cast<Index>(classes.size()), static_cast<Index>(context.places.size())};
    for (char entry : classes) context.places.push_back(entry == one ? one_at : zero_at);
    context.put(out, &bit_, 1, parities.data(), static_cast<int>(parities.size()));
    return out;
}

}  // namespace qx::plan
