// What some pieces do, one behind the other, evaluated on bits rather than rewritten.
//
// Each wire has a frame, in which a bit is a polynomial of the bits with which it all began. A piece with all wires along
// the axes of their bits is a phase of a product of bits. Along another axis of one wire it is a turn of that under a
// condition: turns wait there until all of them, for each value of their conditions, flip a bit or leave it. So a ladder
// that computes conditions and undoes that is what it is in the end, whatever wires it borrows between.
#pragma once

#include "planner/form/clusters/bits/axis.hpp"
#include "planner/form/clusters/bits/bit_phases.hpp"

namespace qx::form {

// One of what pieces do in all: a phase where bits have values, or, with a target, about an axis of that where they have.
struct BitStep {
    Mask bits, values;
    double angle;
    int target = -1;
    Axis axis{};

    Mask wires() const { return bits | (target < 0 ? 0 : unit(target)); }
};

// How many steps are on several wires.
std::size_t joining(const std::vector<BitStep>& steps);

class Evaluation {
  public:
    explicit Evaluation(int wires) : wires_(static_cast<std::size_t>(wires)), written_(wires_.size()) {}

    Mask wires() const { return known_; }
    const Axis& frame_of(int wire) const { return wires_[static_cast<std::size_t>(wire)].z; }
    // Adds a wire, with the axis of its bit. fixed: its value at the beginning, if that is known.
    void add_wire(int wire, const Axis& z, std::optional<bool> fixed);
    // Lets a piece act on wires that are there. If it is not diagonal in the bits of two wires, or takes too many terms,
    // nothing has changed, and it returns false.
    bool act(const AxisPiece& piece);
    // Wires of the piece that was last that have no bit along its axes.
    Mask without_bits() const { return without_bits_; }
    // Returns how many steps it takes at least.
    std::size_t fewest() const;
    // Returns what it all is, as few steps; none where that is not found, or more than so many steps are on several wires.
    std::optional<std::vector<BitStep>> steps(std::size_t most = ~std::size_t{0}) const;
    double phase() const { return phases_.all; }
    // How many terms have been looked at.
    std::size_t work() const { return work_ + phases_.work(); }

  private:
    struct Wire {
        Axis z{}, x{};
        Matrix2 frame{};  // what turns z into Z
        Polynomial begins{}, bit{};
        std::vector<Polynomial> conditions{};
        std::vector<Matrix2> turns{identity2};  // that wait, for each value of the conditions
    };
    // The turns that wait on a wire as steps, under some conditions, which are few changes apart where more pieces act.
    struct Written {
        bool is_known = false, fits = false;
        std::vector<Polynomial> conditions{};
        std::vector<BitStep> steps{};
    };
    using Values = std::vector<bool>;

    std::optional<Polynomial> bit_along(int wire, const Axis& axis, bool& fits) const;
    static std::optional<Values> condition_among(const Wire& of, const Polynomial& where);
    static std::optional<Polynomial> polynomial_of(const Wire& of, const Values& values);
    bool turn_where(int wire, const Polynomial& where, const Matrix2& if_one, const Matrix2& if_zero);
    bool settle(Wire& own);
    bool write_flips(std::vector<Polynomial>& bits, std::vector<std::vector<Polynomial>>& conditions,
                     std::vector<BitStep>& to) const;
    bool write_all_turns(const std::vector<std::vector<Polynomial>>& conditions, std::size_t most,
                         std::vector<BitStep>& to) const;
    const Written& written(int wire, const std::vector<Polynomial>& conditions) const;
    static bool write_turns(const Wire& of, int wire, std::vector<BitStep>& to);

    std::vector<Wire> wires_;
    mutable std::vector<Written> written_;  // of each wire, what was last written
    Mask known_ = 0, without_bits_ = 0;
    BitPhases phases_;
    mutable std::size_t work_ = 0;
};

}  // namespace qx::form
