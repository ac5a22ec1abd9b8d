// In which frames of wires gates on two wires are CX.

#include "planner/form/write/cx_letters.hpp"

#include <algorithm>

namespace qx::form {

namespace {

using Letter = std::size_t;

constexpr Letter x = 1, z = 2, y = 3, any = 4;  // any: of turns about several axes
constexpr std::size_t wrong_of = 8;             // of so many reflections one may be no CX
constexpr int surely = 1 << 30;

using Counts = std::array<int, 4>;  // for each letter

Letter letter_of(const Pauli& of) { return static_cast<Letter>(letter(of, lowest(of.x | of.z))); }

// What is known of segments: whether two are alike.
class Likeness {
  public:
    Index add() {
        parents_.push_back(static_cast<Index>(parents_.size())), differs_.push_back(false);
        return parents_.back();
    }
    // Lets two be alike, or differ; returns false if it is known that they are not.
    bool join(Index a, Index b, bool differ) {
        const auto [first, of_a] = root(a);
        const auto [second, of_b] = root(b);
        if (first == second) return (of_a != of_b) == differ;
        parents_[second] = first, differs_[second] = (of_a != of_b) != differ;
        return true;
    }
    // Returns the one by which others are known, and whether a segment differs from it; the way there is half as long then.
    std::pair<Index, bool> root(Index of) {
        bool differs = false;
        for (; parents_[of] != of; of = parents_[of]) {
            const Index parent = parents_[of];
            differs_[of] = differs_[of] != differs_[parent], parents_[of] = parents_[parent];
            differs = differs != differs_[of];
        }
        return {of, differs};
    }

  private:
    std::vector<Index> parents_;
    std::vector<bool> differs_;
};

// What is on a wire between two turns.
struct Part {
    Letter turn = 0;  // before it
    Counts operators{};
    Index segment = 0;
    std::array<Letter, 4> as{0, 1, 2, 3};  // which operator of its segment each one is
};

// Parts of a wire in one frame, in which one of two operators is written as Z.
struct Segment {
    Counts operators{}, wishes{};  // of those on it; and what costs less where it is Z
    Letter first = z, second = x;
    bool takes_second = false;

    // The two operators of which there are most, Z before X before Y.
    void choose() {
        std::array<Letter, 3> found{z, x, y};
        std::stable_sort(found.begin(), found.end(), [&](Letter a, Letter b) { return operators[a] > operators[b]; });
        const bool in_order = found[0] == z || found[1] == y;
        first = found[in_order ? 0 : 1], second = found[in_order ? 1 : 0];
    }
    bool has(Letter of) const { return of == first || of == second; }
    // As what an operator is written.
    Letter written(Letter of) const { return of == (takes_second ? second : first) ? z : has(of) ? x : y; }
};

class Segments {
  public:
    explicit Segments(const Wires& of) : of_(of), places_(of.items.size()) {
        all_[add()].wishes[z] = surely;
        std::vector<Index> last;  // part of each wire
        for (std::size_t wire = 0; wire < of.on_wire.size(); ++wire) {
            read(static_cast<int>(wire));
            last.push_back(static_cast<Index>(parts_.size() - 1));
        }
        for (int row = 0; row < of.local.wires(); ++row) {
            const Pauli image{of.local.z_row(row)[0], of.local.z_row(row)[1]};
            wish(parts_[last[static_cast<std::size_t>(lowest(image.x | image.z))]], letter_of(image));
        }
        for (Segment& one : all_) one.choose();
    }

    // Lets reflections be CX, where nothing that is known before is against it; returns whether almost all are.
    bool join() {
        std::size_t reflections = 0, wrong = 0;
        for (Index k = 0; k < of_.items.size(); ++k)
            if (!of_.items[k].gone && of_.items[k].reflects()) ++reflections, wrong += !join(k);
        return wrong * wrong_of <= reflections;
    }

    Letters letters() {
        choose();
        Letters out = of_.letters();
        for (Index k = 0; k < out.size(); ++k)
            for (std::size_t j = 0; j < 2; ++j)
                if (const Part& part = parts_[places_[k][j]]; part.segment)
                    out[k][j] = static_cast<unsigned char>(all_[part.segment].written(part.as[out[k][j]]));
        return out;
    }

  private:
    // Divides a wire into parts.
    void read(int wire) {
        const auto begin = static_cast<Index>(parts_.size());
        parts_.push_back({});
        bool turns = false;
        std::vector<std::pair<Index, Letter>> joint;
        for (const Index number : of_.on_wire[static_cast<std::size_t>(wire)]) {
            const WireItem& item = of_.items[number];
            if (item.gone) continue;
            const bool second = !letter(item.a, wire);
            const auto own = static_cast<Letter>(letter(second ? item.b : item.a, wire));
            if (item.wires() == unit(wire)) {
                if (!turns) parts_.push_back({own});
                else if (parts_.back().turn != own) parts_.back().turn = any;
                turns = true;
                continue;
            }
            turns = false;
            const auto part = static_cast<Index>(parts_.size() - 1);
            if (item.reflects()) places_[number][second] = part;
            else joint.emplace_back(part, own);
            ++parts_[part].operators[own];
        }
        divide(begin);
        for (const auto& [part, own] : joint) wish(parts_[part], own);
    }
    // Puts parts of a wire into segments: a turn lets the two operators that it does not commute with change places for
    // nothing, and turns about several axes any of them.
    void divide(Index begin) {
        Index at = add();
        all_[at].wishes[z] = 1;
        parts_[begin].segment = at;
        for (Index k = begin;; ++k) {
            const Part& own = parts_[k];
            for (Letter one : {x, z, y}) all_[at].operators[own.as[one]] += own.operators[one];
            if (k + 1 == parts_.size()) return;
            Part& next = parts_[k + 1];
            if (next.turn != any && stays(own, next)) wish(next, next.turn);
            else at = add(), next.as = {0, 1, 2, 3}, next.segment = at;
        }
    }
    // Puts a part into the segment of the one before, and tells whether one of both has the operator that the turn between
    // them is about: else the next one is a segment of its own.
    bool stays(const Part& before, Part& next) const {
        const Letter turn = before.as[next.turn];
        Segment own = all_[before.segment];
        own.choose();
        const auto others = [&] {
            int out = 0;
            for (Letter one : {x, z, y}) out += own.has(next.as[one]) ? 0 : next.operators[one];
            return out;
        };
        next.segment = before.segment, next.as = before.as;
        const int kept = others();
        for (Letter one : {x, z, y})
            if (next.as[one] != turn) next.as[one] = x + y + z - turn - next.as[one];
        if (others() >= kept) next.as = before.as;
        return own.operators[turn] || next.operators[next.turn];
    }
    void wish(const Part& part, Letter of) { ++all_[part.segment].wishes[part.as[of]]; }
    Index add() {
        all_.push_back({});
        return likeness_.add();
    }
    bool join(Index number) {
        const Part &of_a = parts_[places_[number][0]], &of_b = parts_[places_[number][1]];
        const Segment &first = all_[of_a.segment], &second = all_[of_b.segment];
        const Letter a = of_a.as[letter_of(of_.items[number].a)], b = of_b.as[letter_of(of_.items[number].b)];
        if (first.has(a) && second.has(b))
            return likeness_.join(of_a.segment, of_b.segment, (a == first.first) == (b == second.first));
        if (first.has(a)) return likeness_.join(0, of_a.segment, a != first.first);
        return second.has(b) && likeness_.join(0, of_b.segment, b != second.first);
    }
    // Chooses for all segments that are known by each other what costs least.
    void choose() {
        std::vector<int> gains(all_.size());
        for (Index k = 0; k < all_.size(); ++k) {
            const auto [root, differs] = likeness_.root(k);
            const int gain = all_[k].wishes[all_[k].second] - all_[k].wishes[all_[k].first];
            gains[root] += differs ? -gain : gain;
        }
        for (Index k = 0; k < all_.size(); ++k) {
            const auto [root, differs] = likeness_.root(k);
            all_[k].takes_second = (gains[root] > 0) != differs;
        }
    }

    const Wires& of_;
    std::vector<std::array<Index, 2>> places_;  // of the operators of each reflection, a part; 0 for other items
    std::vector<Part> parts_{{}};               // the first one is of no wire
    std::vector<Segment> all_;                  // the first operator of the first one is Z
    Likeness likeness_;
};

// Whether there are so many more reflections than turns of wires, each of one rotation or several, and other rotations.
bool mostly_reflects(const Wires& of, double cx_ratio) {
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
    return reflections > cx_ratio * turns;
}

}  // namespace

Letters cx_letters(const Wires& of, double cx_ratio) {
    if (!mostly_reflects(of, cx_ratio)) return {};
    Segments segments(of);
    return segments.join() ? segments.letters() : Letters{};
}

}  // namespace qx::form
