// In which frames of wires gates on two wires are CX.

#include "planner/form/write/cx_letters.hpp"

#include <algorithm>

namespace qx::form {

namespace {

constexpr int x = 1, z = 2, y = 3, any = 4;  // any: turns about several axes
constexpr std::size_t wrong_of = 8;          // of so many reflections one may be no CX
constexpr double reflections_of_turn = 1.5;  // `cx_ratio` of a shape: from it on plans in a CNOT frame are tried

using Counts = std::array<int, 4>;  // of operators, by letter

// What is on a wire between two turns.
struct Part {
    int turn = 0;  // before it: a letter, or `any`
    Counts operators{};
    Index segment = 0;
    std::array<int, 4> as{0, 1, 2, 3};  // which operator of its segment each one is
};

// Parts of a wire in one frame: one of two operators is written as Z. What is known of two is whether they are alike.
struct Segment {
    Index parent;         // by which it is known, itself if by none
    bool differs = false;  // from its parent: one has its first operator as Z and the other one its second
    Counts operators{}, wishes{};  // of those on it; and what costs less where it is Z
    int first = z, second = x;
    bool takes_second = false;
};

class Segments {
  public:
    explicit Segments(const Wires& of) : of_(of), places_(of.items.size()) {
        add();  // whose first operator is Z
        all_.front().wishes[z] = 1 << 30;
        for (std::size_t wire = 0; wire < of.on_wire.size(); ++wire) read(static_cast<int>(wire));
        for (int row = 0; row < of.local.wires(); ++row) {
            const Pauli image{of.local.z_row(row)[0], of.local.z_row(row)[1]};
            const int wire = lowest(image.x | image.z);
            wish(last_[static_cast<std::size_t>(wire)], letter(image, wire));
        }
        for (Segment& one : all_) choose_operators(one);
    }

    // Lets reflections be CX, where nothing that is known before is against it; returns whether almost all are.
    bool join() {
        std::size_t reflections = 0, wrong = 0;
        for (Index k = 0; k < of_.items.size(); ++k)
            if (!of_.items[k].gone && of_.items[k].reflects()) ++reflections, wrong += !join(k);
        return wrong * wrong_of <= reflections;
    }

    Letters letters() {
        std::vector<int> gain(all_.size());  // of a second operator as Z
        for (Index k = 0; k < all_.size(); ++k) {
            const auto [first, differs] = root(k);
            const Segment& own = all_[k];
            const int more =
                own.wishes[static_cast<std::size_t>(own.second)] - own.wishes[static_cast<std::size_t>(own.first)];
            gain[first] += differs ? -more : more;
        }
        for (Index k = 0; k < all_.size(); ++k) {
            const auto [first, differs] = root(k);
            all_[k].takes_second = (gain[first] > 0) != differs;
        }
        Letters out = of_.letters();
        for (Index k = 0; k < out.size(); ++k)
            for (std::size_t j = 0; j < 2; ++j) {
                if (!places_[k][j]) continue;
                const Segment& own = segment(k, j);
                const int read = parts_[places_[k][j]].as[out[k][j]], as_z = own.takes_second ? own.second : own.first;
                out[k][j] = static_cast<unsigned char>(read == as_z ? z : read == own.first || read == own.second ? x : y);
            }
        return out;
    }

  private:
    // Divides a wire into parts, and these into segments: a turn lets a wire change between the two operators that it does
    // not commute with for nothing, and turns about several axes from any to any.
    void read(int wire) {
        const auto begin = static_cast<Index>(parts_.size());
        parts_.push_back({});
        bool turns = false;
        std::vector<std::pair<Index, int>> joint;
        for (const Index number : of_.on_wire[static_cast<std::size_t>(wire)]) {
            const WireItem& item = of_.items[number];
            if (item.gone) continue;
            const bool second = !letter(item.a, wire);
            const int own = letter(second ? item.b : item.a, wire);
            if (item.wires() == unit(wire)) {
                if (!turns) parts_.push_back({own});
                else if (parts_.back().turn != own) parts_.back().turn = any;
                turns = true;
                continue;
            }
            turns = false;
            if (item.reflects()) places_[number][second] = static_cast<Index>(parts_.size() - 1);
            else joint.emplace_back(static_cast<Index>(parts_.size() - 1), own);
            ++parts_.back().operators[static_cast<std::size_t>(own)];
        }
        divide(begin);
        for (const auto& [part, own] : joint) wish(parts_[part], own);
        last_.push_back(parts_.back());
    }
    void divide(Index begin) {
        Index at = add();
        all_[at].wishes[z] = 1;
        parts_[begin].segment = at;
        for (Index k = begin;; ++k) {
            for (std::size_t j = 1; j < parts_[k].operators.size(); ++j)
                all_[at].operators[static_cast<std::size_t>(parts_[k].as[j])] += parts_[k].operators[j];
            if (k + 1 == parts_.size()) return;
            Part& next = parts_[k + 1];
            if (next.turn != any && stays(parts_[k], next)) wish(next, next.turn);
            else at = add(), next.as = {0, 1, 2, 3};
            next.segment = at;
        }
    }
    // Tells whether a turn about an operator that others are on one of its sides is in one segment with these. It lets the
    // other two operators change places for nothing.
    bool stays(const Part& before, Part& next) {
        const int turns = before.as[static_cast<std::size_t>(next.turn)];
        Segment own = all_[before.segment];
        choose_operators(own);
        const auto others = [&] {
            int out = 0;
            for (std::size_t j = 1; j < next.as.size(); ++j)
                if (next.as[j] != own.first && next.as[j] != own.second) out += next.operators[j];
            return out;
        };
        next.as = before.as;
        const int kept = others();
        for (int& one : next.as)
            if (one && one != turns) one = x + y + z - turns - one;
        if (others() >= kept) next.as = before.as;
        next.segment = before.segment;
        return own.operators[static_cast<std::size_t>(turns)] || next.operators[static_cast<std::size_t>(next.turn)];
    }
    void wish(const Part& part, int operates) {
        ++all_[part.segment].wishes[static_cast<std::size_t>(part.as[static_cast<std::size_t>(operates)])];
    }
    Index add() {
        all_.push_back({static_cast<Index>(all_.size())});
        return all_.back().parent;
    }
    // The two operators of which there are most, Z before X before Y.
    static void choose_operators(Segment& of) {
        std::array<int, 3> found{z, x, y};
        const auto more = [&](int a, int b) {
            return of.operators[static_cast<std::size_t>(a)] > of.operators[static_cast<std::size_t>(b)];
        };
        std::stable_sort(found.begin(), found.end(), more);
        const bool in_order = found[0] == z || found[1] == y;
        of.first = found[in_order ? 0 : 1], of.second = found[in_order ? 1 : 0];
    }
    Segment& segment(Index item, std::size_t j) { return all_[parts_[places_[item][j]].segment]; }

    bool join(Index number) {
        const WireItem& item = of_.items[number];
        const Segment &a = segment(number, 0), &b = segment(number, 1);
        const auto as = [&](std::size_t j, const Pauli& of) {
            return parts_[places_[number][j]].as[static_cast<std::size_t>(letter(of, lowest(of.x | of.z)))];
        };
        const int of_a = as(0, item.a), of_b = as(1, item.b);
        const bool may_a = of_a == a.first || of_a == a.second, may_b = of_b == b.first || of_b == b.second;
        if (may_a && may_b) return join(a, b, (of_a == a.first) == (of_b == b.first));
        if (may_a || may_b) return join(all_.front(), may_a ? a : b, may_a ? of_a != a.first : of_b != b.first);
        return false;
    }
    // Lets two be alike, or differ; returns false if it is known that they are not.
    bool join(const Segment& a, const Segment& b, bool differ) {
        const auto [first, of_a] = root(static_cast<Index>(&a - all_.data()));
        const auto [second, of_b] = root(static_cast<Index>(&b - all_.data()));
        if (first == second) return (of_a != of_b) == differ;
        all_[second].parent = first, all_[second].differs = (of_a != of_b) != differ;
        return true;
    }
    // Returns the one by which a segment is known, and whether it differs from that; the way there is half as long then.
    std::pair<Index, bool> root(Index of) {
        bool differs = false;
        for (; all_[of].parent != of; of = all_[of].parent) {
            const Segment& parent = all_[all_[of].parent];
            all_[of].differs = all_[of].differs != parent.differs, all_[of].parent = parent.parent;
            differs = differs != all_[of].differs;
        }
        return {of, differs};
    }

    const Wires& of_;
    std::vector<Part> parts_{{}};  // the first one is of no wire
    std::vector<std::array<Index, 2>> places_;  // of the operators of each reflection, a part
    std::vector<Segment> all_;
    std::vector<Part> last_;  // of each wire
};

}  // namespace

Letters cx_letters(const Wires& of) {
    double reflections = 0, turns = 0;
    for (const WireItem& item : of.items) (item.reflects() ? reflections : turns) += !item.gone;
    if (reflections <= reflections_of_turn * turns) return {};
    Segments segments(of);
    return segments.join() ? segments.letters() : Letters{};
}

}  // namespace qx::form
