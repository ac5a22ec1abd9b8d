// In which frames of wires gates on two wires are CX.

#include "planner/form/write/cx_letters.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace qx::form {

namespace {

using Letter = std::size_t;
using LetterSet = unsigned;  // a bit for each

constexpr Letter x = 1, z = 2, y = 3, any = 4;  // any: of turns about several axes
constexpr LetterSet all_letters = 1U << x | 1U << z | 1U << y;
constexpr std::size_t wrong_of = 8;     // of so many reflections one may be no CX
constexpr std::size_t most_steps = 16;  // for each item; behind so many only wishes choose

using Counts = std::array<int, 4>;  // for each letter

Letter letter_of(const Pauli& of) { return static_cast<Letter>(letter(of, lowest(of.x | of.z))); }

// What is on a wire between two turns, where one operator is written as Z.
struct Part {
    Letter turn = 0;              // before it; 0 if it is the first one of a wire
    LetterSet may = all_letters;  // be written as Z
    Counts wishes{};              // what costs less where it is
    std::vector<Index> reflections{};
};

class Parts {
  public:
    explicit Parts(const Wires& of) : of_(of), places_(of.items.size()) {
        std::vector<Index> last;  // part of each wire
        for (std::size_t wire = 0; wire < of.on_wire.size(); ++wire) {
            read(static_cast<int>(wire));
            last.push_back(static_cast<Index>(parts_.size() - 1));
        }
        for (int row = 0; row < of.local.wires(); ++row) {
            const Pauli image{of.local.z_row(row)[0], of.local.z_row(row)[1]};
            ++parts_[last[static_cast<std::size_t>(lowest(image.x | image.z))]].wishes[letter_of(image)];
        }
    }

    // Chooses what is written as Z, so that as many reflections as can be found are CX; returns whether almost all are.
    bool choose() {
        std::size_t reflections = 0, wrong = 0;
        for (Index k = 0; k < of_.items.size(); ++k) {
            const WireItem& item = of_.items[k];
            if (item.gone || !item.reflects()) continue;
            for (const Index part : places_[k])
                if (!std::has_single_bit(parts_[part].may)) guess(part);
            ++reflections, wrong += is_z(places_[k][0], letter_of(item.a)) == is_z(places_[k][1], letter_of(item.b));
        }
        return wrong * wrong_of <= reflections;
    }

    Letters letters() const {
        Letters out = of_.letters();
        for (Index k = 0; k < out.size(); ++k)
            if (!of_.items[k].gone && of_.items[k].reflects())
                for (std::size_t j = 0; j < 2; ++j) out[k][j] = is_z(places_[k][j], out[k][j]) ? z : x;
        return out;
    }

  private:
    struct Known {
        Index part;
        LetterSet may;
    };

    // Divides a wire into parts.
    void read(int wire) {
        parts_.push_back({});
        parts_.back().wishes[z] = 1;
        bool turns = false;
        for (const Index number : of_.on_wire[static_cast<std::size_t>(wire)]) {
            const WireItem& item = of_.items[number];
            if (item.gone) continue;
            const bool second = !letter(item.a, wire);
            const auto own = static_cast<Letter>(letter(second ? item.b : item.a, wire));
            if (item.wires() == unit(wire)) {
                if (!turns) parts_.push_back({own}), ++parts_.back().wishes[own];
                else if (parts_.back().turn != own) parts_.back().turn = any, parts_.back().wishes = {};
                turns = true;
                continue;
            }
            turns = false;
            if (item.reflects()) {
                places_[number][second] = static_cast<Index>(parts_.size() - 1);
                parts_.back().reflections.push_back(number);
            } else {
                ++parts_.back().wishes[own];
            }
        }
    }

    bool is_z(Index part, Letter of) const { return parts_[part].may == 1U << of; }

    int most_wishes(Index part) const {
        int out = 0;
        for (const Letter one : {x, z, y})
            if (parts_[part].may >> one & 1) out = std::max(out, parts_[part].wishes[one]);
        return out;
    }
    // Leaves what is in a set to a part, if anything is.
    void narrow(Index part, LetterSet to) {
        const LetterSet was = parts_[part].may;
        if (!(was & to)) ++wrong_;
        if (!(was & to) || !(was & ~to)) return;
        lost_ += most_wishes(part);
        known_.push_back({part, was}), parts_[part].may = was & to;
        lost_ -= most_wishes(part);
    }
    // Lets another part know what one is: of a reflection one operator is Z, and if a turn's is Z on one side of it, it is
    // so on the other one; else H beside it may let both others change places.
    void tell(Index from, Letter own, Index to, Letter other, bool alike) {
        const LetterSet may = parts_[from].may, bit = 1U << other;
        if (may == 1U << own) narrow(to, alike ? bit : all_letters & ~bit);
        else if (!(may >> own & 1)) narrow(to, alike ? all_letters & ~bit : bit);
    }
    // Chooses what a part writes as Z, and all that follows from it, until more than `most` contradict.
    void follow(Index part, Letter as_z, std::size_t most) {
        wrong_ = 0, lost_ = 0;
        std::size_t next = known_.size();
        narrow(part, 1U << as_z);
        for (; next < known_.size() && wrong_ <= most; ++next) {
            const Index own = known_[next].part;
            steps_ += 1 + parts_[own].reflections.size();
            for (const Index number : parts_[own].reflections) {
                const WireItem& item = of_.items[number];
                const bool second = places_[number][1] == own;
                tell(own, letter_of(second ? item.b : item.a), places_[number][!second], letter_of(second ? item.a : item.b),
                     false);
            }
            const auto along = [&](Letter turn, Index to) {
                if (turn && turn != any) tell(own, turn, to, turn, true);
            };
            along(parts_[own].turn, own - 1);
            if (own + 1 < parts_.size()) along(parts_[own + 1].turn, own + 1);
        }
    }
    // Chooses what a part writes as Z, with what follows from it: so that little contradicts, and few wishes are lost.
    void guess(Index part) {
        const std::size_t begin = known_.size();
        const bool looks = steps_ < most_steps * of_.items.size();
        std::pair<std::size_t, int> least{std::numeric_limits<std::size_t>::max(), 0};
        Letter best = z;
        for (const Letter one : {z, x, y}) {
            if (!(parts_[part].may >> one & 1)) continue;
            if (looks) follow(part, one, least.first);
            else wrong_ = 0, lost_ = -parts_[part].wishes[one];
            if (const std::pair now{wrong_, lost_}; now < least) least = now, best = one;
            for (; known_.size() > begin; known_.pop_back()) parts_[known_.back().part].may = known_.back().may;
        }
        follow(part, best, std::numeric_limits<std::size_t>::max());
    }

    const Wires& of_;
    std::vector<std::array<Index, 2>> places_;  // of the operators of each reflection, a part
    std::vector<Part> parts_;
    std::vector<Known> known_;           // what parts might be before they became fewer, in this order
    std::size_t wrong_ = 0, steps_ = 0;  // contradictions of what is followed; all that was looked at
    int lost_ = 0;                       // wishes that can no longer come true
};

}  // namespace

double reflections_per_turn(const Wires& of) {
    double reflections = 0, turns = 0;
    for (const WireItem& item : of.items)
        if (!item.gone) (item.reflects() ? reflections : turns) += item.reflects() || count(item.wires()) > 1;
    for (const std::vector<Index>& on : of.on_wire) {
        bool turned = false;
        for (const Index number : on) {
            const WireItem& item = of.items[number];
            if (item.gone) continue;
            const bool alone = count(item.wires()) == 1;
            turns += alone && !turned, turned = alone;
        }
    }
    return reflections / turns;
}

Letters cx_letters(const Wires& of) {
    Parts parts(of);
    return parts.choose() ? parts.letters() : Letters{};
}

}  // namespace qx::form
