// What some pieces do, one behind the other, evaluated on bits rather than rewritten.
//
// Each wire has a frame, in which a bit is a function of the bits with which it all began. A piece with all wires along
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

// What pieces do in all: others, and a phase of all states.
struct InAll {
    std::vector<AxisPiece> pieces{};
    double phase = 0;
    double off = 0;  // what was taken for nothing in all
};

class Evaluation {
  public:
    // Frames stay as they were guessed, or wires let go of theirs where that is not too late.
    enum class Frames { guessed, let_go };

    // diagrams: of nothing yet. zeros: wires that are 0 at the beginning.
    Evaluation(Diagrams& diagrams, int wires, Mask zeros, Frames frames)
        : diagrams_(&diagrams), wires_(static_cast<std::size_t>(wires)), written_(wires_.size()), zeros_(zeros),
          frames_(frames), phases_(diagrams) {}

    Mask with_frames() const { return with_frames_; }
    Mask wires() const { return known_; }
    // Lets something else act before all, on wires that are not there yet.
    void touch(Mask wires) { zeros_ &= ~wires; }
    // Lets a piece act. open: a wire that stays without a frame, if it has none and may; -1 for none. If the piece is not
    // diagonal in the bits of two wires, or takes too many steps, it does not, and it returns false.
    bool act(const AxisPiece& piece, int open);
    // Returns how many things are left: bits that are flipped, wires on which turns wait, and whether there are phases; and
    // how many, with each phase.
    std::size_t fewest() const;
    std::size_t left() const { return fewest() + phases_.size(); }
    // Returns how many steps on several wires all that takes at least; and as far as it was written when it was last looked
    // at.
    std::size_t fewest_steps() const;
    std::size_t needed() const { return needed_; }
    // Whether many pieces have acted for each thing that is left, so that more work may pay.
    bool have_many_acted() const;
    // Returns what it all is, as few pieces one behind the other, those of single wires, too; none where that is not found,
    // or more than so many are on several wires.
    std::optional<InAll> in_all(std::size_t most = ~std::size_t{0}) const;
    // How many steps have been taken.
    std::size_t work() const { return work_ + phases_.work() + diagrams_->steps(); }

  private:
    using Conditions = std::vector<Diagram>;
    // Turns about one axis that wait, before one that is the same for all: phases where its operator is -1.
    struct About {
        Axis axis;
        BitPhases angles;
    };
    struct Wire {
        Axis z{}, x{};
        Matrix2 frame{};  // what turns z into Z
        Diagram begins{}, bit{};
        Conditions conditions{};
        std::vector<Matrix2> turns{identity2};  // that wait, for each value of the conditions
        std::optional<About> about{};           // without conditions
        bool waits() const { return !conditions.empty() || about; }
    };
    // The turns that wait on a wire as steps, under some conditions, which are few changes apart where more pieces act.
    struct Written {
        bool is_known = false, fits = false;
        std::size_t fewest = 0;  // how many it takes at least on several wires; 0 where nobody looked
        Conditions conditions{};
        std::vector<BitStep> steps{};
    };
    using Values = std::vector<bool>;

    // Counts a piece that acts.
    bool acts() {
        ++pieces_;
        return true;
    }
    bool has_frame(int wire) const { return (with_frames_ >> wire & 1) != 0; }
    Diagram beginning(int wire, const Axis& z) const;
    void add_frame(int wire, const Axis& along);
    void let_go(int wire);
    std::optional<Diagram> bit_along(int wire, const Axis& axis, double angle) const;
    std::optional<Values> condition_among(const Wire& of, Diagram where) const;
    Conditions conditions_of(const Wire& wire) const;
    Diagram with_values(const Wire& of, const Values& values) const;
    bool turn_where(int wire, Diagram where, const Matrix2& if_one, const Matrix2& if_zero);
    bool turn_about(int wire, Diagram where, const Axis& axis, double angle);
    bool settle_about(int wire);
    bool leave_about(int wire);
    bool settle(int wire);
    bool write_flips(std::vector<Diagram>& bits, std::vector<Conditions>& conditions, std::size_t most,
                     std::vector<BitStep>& to) const;
    bool write_all_turns(const std::vector<Conditions>& conditions, std::size_t before, std::size_t most,
                         std::vector<BitStep>& to) const;
    void changes(int wire) { written_[static_cast<std::size_t>(wire)] = {}; }
    std::size_t fewest_turns(int wire) const;
    const Written& written(int wire, const Conditions& conditions) const;
    std::optional<std::vector<BitStep>> steps(std::size_t most) const;
    std::optional<InAll> pieces(std::size_t most) const;
    void add_last_frames();
    double off() const;
    bool write_about(const Wire& of, int wire, std::vector<BitStep>& to) const;
    bool write_turns(const Wire& of, int wire, std::vector<BitStep>& to) const;

    Diagrams* diagrams_;
    std::vector<Wire> wires_;
    mutable std::vector<Written> written_;  // of each wire, what was last written
    Mask zeros_, known_ = 0, with_frames_ = 0;
    Frames frames_;
    std::size_t pieces_ = 0;  // that have acted
    double off_ = 0;          // what turns were off those that they were taken for
    BitPhases phases_;
    mutable std::size_t work_ = 0, needed_ = 0;
};

}  // namespace qx::form
