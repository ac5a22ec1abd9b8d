// Phases where polynomials of bits are 1, as phases of products of bits.
#pragma once

#include <map>

#include "planner/form/clusters/bits/polynomial.hpp"
#include "planner/form/clusters/joint_phases.hpp"

namespace qx::form {

class BitPhases {
  public:
    double all = 0;  // the phase of all states

    // Adds e^{i angle} where a polynomial is 1. One that is more than a few products stays as it is, until it goes.
    void add(const Polynomial& where, double angle);
    // Takes away phases where a bit is 1, as few of other bits where it is; none where that is not known.
    std::optional<std::vector<JointPhase>> taken(int bit);
    // How many products have been looked at.
    std::size_t work() const { return work_; }
    // How many angles it is made of.
    std::size_t size() const { return of_products_.size() + others_.size(); }
    // Returns few phases that make it up, those of single bits, too; none where some are of many products that are not one.
    // They are found once, until it changes.
    const std::optional<std::vector<JointPhase>>& joint() const;

  private:
    void add_product(Mask bits, double angle);
    void join() const;

    std::map<Mask, double> of_products_;
    std::vector<std::pair<Polynomial, double>> others_;
    std::size_t work_ = 0;
    mutable std::optional<std::vector<JointPhase>> joint_{};
    mutable bool is_joined_ = false;  // whether that is known
};

// Returns few products of bits, or of bits flipped, whose sum a polynomial is, each as a sign; 1 is one of no bits.
std::vector<JointPhase> few_products(const Polynomial& of);

}  // namespace qx::form
