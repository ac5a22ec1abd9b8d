// Which wires are written behind H so that gates on two wires are CX.

#include "planner/form/write/cx_letters.hpp"

namespace qx::form {

namespace {

constexpr int x = 1, z = 2, y = 3;
constexpr std::size_t wrong_of = 8;          // of so many reflections one may be no CX
constexpr double reflections_of_turn = 1.5;  // `cx_ratio` of a shape: from it on plans in a CNOT frame are tried
constexpr double sure = 1e9;

// Segments of wires, each behind H or not. What is known of two is whether they are alike.
class Segments {
  public:
    // Returns a new one; as_read: what it costs beyond being behind H that it is not.
    Index add(double as_read = 0) {
        parents_.push_back(parents_.size()), differ_.push_back(false), costs_.push_back(as_read);
        return parents_.size() - 1;
    }
    void cost(Index segment, double as_read) { costs_[segment] += as_read; }
    // Lets two be alike, or differ; returns false if it is known that they are not.
    bool join(Index a, Index b, bool differ) {
        const auto [first, of_a] = root(a);
        const auto [second, of_b] = root(b);
        if (first == second) return (of_a != of_b) == differ;
        parents_[second] = first, differ_[second] = (of_a != of_b) != differ;
        return true;
    }
    // Returns whether each is behind H, where that costs least.
    std::vector<bool> cheapest() {
        std::vector<double> as_read(parents_.size());
        std::vector<bool> out(parents_.size());
        for (Index k = 0; k < out.size(); ++k) {
            const auto [first, differs] = root(k);
            as_read[first] += differs ? -costs_[k] : costs_[k];
        }
        for (Index k = 0; k < out.size(); ++k) {
            const auto [first, differs] = root(k);
            out[k] = (as_read[first] > 0) != differs;
        }
        return out;
    }

  private:
    // Returns the one by which others are known, and whether it differs from that; the way there is half as long then.
    std::pair<Index, bool> root(Index of) {
        bool differs = false;
        for (; parents_[of] != of; of = parents_[of]) {
            const Index parent = parents_[of];
            differ_[of] = differ_[of] != differ_[parent], parents_[of] = parents_[parent];
            differs ^= differ_[of];
        }
        return {of, differs};
    }

    std::vector<Index> parents_;
    std::vector<bool> differ_;
    std::vector<double> costs_;
};

// Reads items, and says what segments they are on and what these have to be.
class Reader {
  public:
    explicit Reader(const Wires& of) : ground_(segments.add(-sure)) {
        for (std::size_t wire = 0; wire < of.on_wire.size(); ++wire) at_.push_back({segments.add(-1)});
    }

    // Returns the segments of the operators of a reflection, or that of one wire of a rotation.
    std::array<Index, 2> read(const WireItem& item) {
        if (item.reflects()) return reflect(item);
        std::array<Index, 2> out{};
        const bool alone = count(item.wires()) == 1;
        each(item.wires(), [&](int wire) {
            Wire& own = at_[static_cast<std::size_t>(wire)];
            const int turns = letter(item.a, wire);
            out[0] = own.segment;
            const bool mixes = alone && own.turned && own.turned != turns;  // in whatever frame, together with that before
            if (mixes) is_z(wire, 3 - own.turned);
            else is_z(wire, turns);
            if (mixes || (alone && turns == y)) own.segment = segments.add();
            own.turned = alone && !mixes && turns != y ? turns : 0;
        });
        return out;
    }
    // Counts that an operator of a wire costs less where it is written as Z.
    void is_z(int wire, int operates) {
        if (operates != y) segments.cost(at_[static_cast<std::size_t>(wire)].segment, operates == z ? -1 : 1);
    }

    Segments segments;
    std::size_t reflections = 0, wrong = 0;

  private:
    struct Wire {
        Index segment;
        int turned = 0;  // what the item before turns about, if that is on this wire alone
    };

    std::array<Index, 2> reflect(const WireItem& item) {
        const int u = lowest(item.a.x | item.a.z), v = lowest(item.b.x | item.b.z);
        const int a = letter(item.a, u), b = letter(item.b, v);
        Wire &first = at_[static_cast<std::size_t>(u)], &second = at_[static_cast<std::size_t>(v)];
        first.turned = second.turned = 0;
        bool right = a != y || b != y;
        if (right && a == y) right = segments.join(ground_, second.segment, b == x);
        else if (right && b == y) right = segments.join(ground_, first.segment, a == x);
        else if (right) right = segments.join(first.segment, second.segment, a == b);
        ++reflections, wrong += !right;
        return {first.segment, second.segment};
    }

    Index ground_;  // a segment that is as it was read
    std::vector<Wire> at_;
};

}  // namespace

bool mostly_reflects(const Wires& of) {
    double reflections = 0, turns = 0;
    for (const WireItem& item : of.items) (item.reflects() ? reflections : turns) += !item.gone;
    return reflections > reflections_of_turn * turns;
}

Letters cx_letters(const Wires& of) {
    Reader reader(of);
    std::vector<std::array<Index, 2>> segments(of.items.size());
    for (Index k = 0; k < of.items.size(); ++k)
        if (!of.items[k].gone) segments[k] = reader.read(of.items[k]);
    if (reader.wrong * wrong_of > reader.reflections) return {};
    for (int row = 0; row < of.local.wires(); ++row) {
        const Pauli image{of.local.z_row(row)[0], of.local.z_row(row)[1]};
        const int wire = lowest(image.x | image.z);
        reader.is_z(wire, letter(image, wire));
    }
    const std::vector<bool> behind_h = reader.segments.cheapest();
    Letters out = of.letters();
    for (Index k = 0; k < out.size(); ++k)
        for (std::size_t j = 0; j < 2; ++j)
            if (unsigned char& one = out[k][j]; one % 3 && behind_h[segments[k][j]]) one = static_cast<unsigned char>(3 - one);
    return out;
}

}  // namespace qx::form
