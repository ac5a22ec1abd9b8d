// Phases where functions of bits are 1, as phases of products of bits.
#pragma once

#include <optional>
#include <utility>

#include "planner/form/clusters/bits/diagrams.hpp"

namespace qx::form {

// How many phases are of several bits.
std::size_t joining(const std::vector<JointPhase>& phases);

class BitPhases {
  public:
    double all = 0;          // the phase of all states
    mutable double off = 0;  // what angles were off in all that were taken for none, or for half a turn

    explicit BitPhases(Diagrams& of) : diagrams_(&of) {}

    // Adds e^{i angle} where a function is 1. One that is more than a few products stays as it is, until it goes.
    void add(Diagram where, double angle);
    // Whether all angles but that of all states are half a turn; and where they are then.
    bool are_signs() const { return of_products_.empty() && others_.empty(); }
    Diagram signs() const;
    // Looks again whether what was too many products is few now.
    void look_again() {
        if (!others_.empty()) flip_those_of_fewer();
    }
    // Returns functions, and the phases where they are 1, that make up all but that of all states.
    std::vector<std::pair<Diagram, double>> parts() const;
    // Takes away phases where a bit is 1, as few of other bits where it is; none where that is not known.
    std::optional<std::vector<JointPhase>> taken(int bit);
    // How many products have been looked at.
    std::size_t work() const { return work_; }
    // How many angles it is made of.
    std::size_t size() const { return signs_.size() + of_products_.size() + others_.size(); }
    // Returns few phases that make it up, those of single bits, too; none where some are of many products that are not one.
    // They are found once, until it changes.
    const std::optional<std::vector<JointPhase>>& joint() const;

  private:
    using Products = std::vector<std::pair<Mask, double>>;

    // Some phases: where a function is 1, -1; where products of bits are 1, angles.
    struct Parts {
        Diagram signs{};
        Products products{};
        std::size_t until = 0;  // so many steps these are looked for
        double off = 0;
    };

    Diagram product(Mask bits) const { return diagrams_->where(bits, bits & ~flipped_); }
    Products::iterator at(Mask bits);
    void flip(int bit);
    void flip_those_of_fewer();
    void flip_if_many();
    void add_others_again();
    void read_as(Diagram where);
    BitPhases written_as(Diagram where, double more) const;
    bool is_long_parity(Diagram where, double angle) const;
    bool write(Diagram where, double angle, Mask under, Parts& to) const;
    void add_product(Mask bits, double angle);
    void add_sign(Diagram where);
    void join() const;
    void write_joint(std::optional<std::vector<JointPhase>>& to) const;

    Diagrams* diagrams_;
    std::vector<Diagram> signs_;   // where their sum is 1, it is -1, but for the others: some that are short
    Mask flipped_ = 0, read_ = 0;  // bits of which products have the opposite, and those that are in some
    Products of_products_;         // in the order of their bits
    std::vector<std::pair<Diagram, double>> others_;
    std::size_t flipped_at_ = 0;  // how many products there were when bits were flipped last
    mutable std::size_t work_ = 0;
    bool is_again_ = false;  // whether it is written in another way now
    mutable std::optional<std::vector<JointPhase>> joint_{};
    mutable bool is_joined_ = false;  // whether that is known
};

}  // namespace qx::form
