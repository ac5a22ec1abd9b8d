// From stages with far parities back to work on bits.

#include "planner/stages/parities/on_bits.hpp"

#include "base/sorting.hpp"
#include "planner/linear/coordinates.hpp"

namespace qx::plan {

namespace {

// The names of bits while work is written. For each bit of the frame, `columns` are the names that flip with it, and
// `parities` those whose sum it is.
class Names {
  public:
    Names(Map columns, Map parities, int low, PlanContext& context)
        : context_(context), columns_(std::move(columns)), parities_(std::move(parities)),
          high_(below(static_cast<int>(columns_.size())) & ~below(low)), cx_pattern_(context.patterns.of({})),
          cx_label_(context.labels.of("cx")), cx_to_(static_cast<Index>(context.values.size())) {
        context.values.push_back(1), context.values.push_back(0);
        std::fill(home_, home_ + 64, -1);
    }

    Mask far = 0;  // names that are far now

    // Returns the work written since this was asked last.
    std::vector<Piece> taken() { return std::move(work_); }

    // Writes a piece of work, and the CX before it.
    void place(const FramedWork& work, const Framed& framed) {
        const Piece& piece = framed.piece;
        std::vector<int> bits;
        Mask used = 0;
        for (int k = 0; k < piece.num_mixed; ++k) {
            Mask flips = image(columns_, work.directions(framed)[k]);
            int bit = static_cast<int>(work.bits(framed)[k]);
            int name = chosen(flips & ~used, seen(work.rows(framed)[k]), home_[bit]);
            home_[bit] = name;
            spread(name, flips & ~unit(name));
            bits.push_back(name), used |= unit(name);
        }
        for (int k = 0; k < piece.num_mixed; ++k) alone(bits[at(k)], work.rows(framed)[k]);
        std::vector<OnParity> conditions;
        for (int k = 0; k < framed.num_conditions; ++k)
            conditions.push_back({seen(work.conditions(framed)[k]), (framed.values >> k & 1) != 0});
        sort_ascending(conditions);
        Vectors reads;
        for (int k = 0; k < piece.num_reads; ++k) reads.push_back(seen(work.reads(framed)[k]));
        work_.push_back(on_positions(framed, bits, reads, conditions, context_));
    }

    // Returns the names of parities that will be far, after CX that make each of them a bit. wanted: the name that each
    // should have, if it is free. later: names that others should have.
    std::vector<int> bits_of(const Vectors& parities, const std::vector<int>& wanted = {}, Mask later = 0) {
        std::vector<int> found(parities.size(), -1);
        for (std::size_t k = 0; k < parities.size(); ++k) {
            Mask own = seen(parities[k]);
            bool right = wanted.empty() || own == unit(wanted[k]) || own & far;
            if (right && own & high_ && !(own & (own - 1))) found[k] = highest(own);
        }
        for (std::size_t k = 0; k < parities.size(); ++k) {
            if (found[k] >= 0) continue;
            Mask taken = far;
            for (int name : found) taken |= name >= 0 ? unit(name) : 0;
            Mask free = high_ & ~taken, liked = wanted.empty() ? 0 : free & unit(wanted[k]);
            if (!liked) liked = free & ~later;
            if (liked) free = liked;
            Mask own = seen(parities[k]) & free;
            found[k] = highest(own ? own : free);
            rise(found[k], parities[k], taken);
        }
        return found;
    }

    // Writes the CX after which each parity has its name.
    void settle(const std::vector<int>& at, const Map& parities) {
        std::vector<std::pair<int, int>> order;
        for (std::size_t bit = 0; bit < at.size(); ++bit)
            order.push_back({count(seen(parities[bit])), static_cast<int>(bit)});
        sort_ascending(order);
        Mask taken = far;
        for (auto [size, bit] : order) {
            int name = at[static_cast<std::size_t>(bit)];
            if (taken >> name & 1) continue;
            rise(name, parities[static_cast<std::size_t>(bit)], taken);
            taken |= unit(name);
        }
    }

  private:
    // A parity of the frame's bits as one of names.
    Mask seen(Mask parity) const { return image(parities_, parity); }

    // The name of a direction: the one that it had, or one that needs few CX.
    static int chosen(Mask among, Mask liked, int home) {
        if (home >= 0 && among >> home & 1) return home;
        return highest(among & liked ? among & liked : among);
    }

    // Writes the CX after which a name is a parity; none of them changes the names that are taken.
    void rise(int name, Mask parity, Mask taken) {
        Mask own = seen(parity);
        if (!(own >> name & 1)) spread(name, unit(highest(own & ~taken)));
        alone(name, parity);
    }

    // Writes the CX after which a parity that has a name is that of the name alone.
    void alone(int name, Mask parity) {
        Mask controls = seen(parity) & ~unit(name);
        if (!controls) return;
        for (Mask& column : columns_) column ^= is_odd(column & controls) ? unit(name) : 0;
        for (Mask& row : parities_) row ^= row >> name & 1 ? controls : 0;
        each(controls, [&](int control) { cx(control, name); });
    }

    // Writes a CX from a name to each of some others.
    void spread(int name, Mask targets) {
        if (!targets) return;
        for (Mask& column : columns_) column ^= column >> name & 1 ? targets : 0;
        for (Mask& row : parities_) row ^= is_odd(row & targets) ? unit(name) : 0;
        each(targets, [&](int target) { cx(name, target); });
    }

    void cx(int control, int target) {
        Piece made;
        made.kind = Kind::permute, made.pattern = cx_pattern_, made.label = cx_label_, made.to = cx_to_;
        made.when = {unit(control), unit(control)};
        context_.put(made, &target, 1, nullptr, 0);
        work_.push_back(made);
    }

    PlanContext& context_;
    Map columns_, parities_;
    Mask high_;
    Index cx_pattern_, cx_label_, cx_to_;
    int home_[64];  // the last name of each bit of the work, or -1
    std::vector<Piece> work_;
};

Mask mask_of(const std::vector<int>& bits) {
    Mask out = 0;
    for (int bit : bits) out |= unit(bit);
    return out;
}

// Returns the bit whose parity each one is, in some map.
int bit_of(Mask parity, const Map& parities) {
    return static_cast<int>(std::find(parities.begin(), parities.end(), parity) - parities.begin());
}

// Returns a name for each bit, given those of some (-1: none): its own where it is free.
std::vector<int> completed(std::vector<int> at) {
    Mask named = 0, taken = 0;
    for (int name : at) named |= name >= 0 ? unit(name) : 0;
    for (std::size_t bit = 0; bit < at.size(); ++bit) {
        if (at[bit] < 0 && !(named >> bit & 1)) at[bit] = static_cast<int>(bit);
        if (at[bit] >= 0) taken |= unit(at[bit]);
    }
    Mask left = below(static_cast<int>(at.size())) & ~taken;
    for (int& name : at)
        if (name < 0) name = lowest(left), left &= left - 1;
    return at;
}

// Returns the name of each bit at the end: its own, but for those of the lowest that are far.
std::vector<int> places(const Vectors& far, const Map& parities, int low) {
    std::vector<int> at(parities.size(), -1);
    Mask last = 0;
    for (std::size_t bit = 0; bit < parities.size(); ++bit)
        if (std::find(far.begin(), far.end(), parities[bit]) != far.end()) last |= unit(static_cast<int>(bit));
    Mask free = below(static_cast<int>(parities.size())) & ~below(low) & ~last;
    each(last, [&](int bit) {
        at[static_cast<std::size_t>(bit)] = bit >= low ? bit : lowest(free);
        if (bit < low) free &= free - 1;
    });
    return completed(std::move(at));
}

// Leaves out what a bit controls that is still 0, in work that begins in |0...0>.
void leave_out_zeros(std::vector<NamedStage>& stages, int num_bits) {
    Mask zero = below(num_bits);
    for (NamedStage& stage : stages) {
        std::vector<Piece> kept;
        for (const Piece& piece : stage.work) {
            if (piece.when.value & zero) continue;
            zero &= ~piece.mixed.units;
            kept.push_back(piece);
        }
        stage.work.swap(kept);
    }
}

}  // namespace

Named forwards(const std::vector<FarStage>& stages, const FramedWork& work, int low, PlanContext& context) {
    const Map& parities = work.frame.parities;
    Map same = units(static_cast<int>(parities.size()));
    Names names(same, same, low, context);
    const FarStage& end = stages.back();
    std::vector<int> wanted;
    for (Mask parity : end.far) wanted.push_back(bit_of(parity, parities));
    Named out;
    for (std::size_t k = 0; k < stages.size(); ++k) {
        names.far = mask_of(names.bits_of(stages[k].far));
        for (Index number : stages[k].pieces) names.place(work, work[number]);
        if (k + 1 < stages.size()) {
            bool is_last = k + 2 == stages.size();
            names.bits_of(stages[k + 1].far, is_last ? wanted : std::vector<int>(), mask_of(wanted));
        } else {
            std::vector<int> found = names.bits_of(end.far), at(parities.size(), -1);
            for (std::size_t j = 0; j < found.size(); ++j) at[static_cast<std::size_t>(wanted[j])] = found[j];
            out.at = completed(std::move(at));
            names.settle(out.at, parities);
        }
        out.stages.push_back({names.taken(), names.far});
    }
    return out;
}

Named backwards(const std::vector<FarStage>& stages, const FramedWork& work, int low, PlanContext& context) {
    Named out;
    out.at = places(stages.back().far, work.frame.parities, low);
    Map units_at, columns, parities;
    for (int name : out.at) units_at.push_back(unit(name));
    for (Mask column : inverse(work.frame.directions)) columns.push_back(image(units_at, column));
    for (Mask column : inverse(work.frame.parities)) parities.push_back(image(units_at, column));
    Names names(columns, parities, low, context);
    for (std::size_t k = stages.size(); k-- > 0;) {
        names.far = mask_of(names.bits_of(stages[k].far));
        for (auto number = stages[k].pieces.rbegin(); number != stages[k].pieces.rend(); ++number)
            names.place(work, work[*number]);
        if (k) names.bits_of(stages[k - 1].far);
        std::vector<Piece> written = names.taken();
        std::reverse(written.begin(), written.end());
        out.stages.push_back({std::move(written), names.far});
    }
    std::reverse(out.stages.begin(), out.stages.end());
    leave_out_zeros(out.stages, static_cast<int>(out.at.size()));
    return out;
}

}  // namespace qx::plan
