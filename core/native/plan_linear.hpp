// Plans over subspaces, for a new state and for one that is there; see qsim_ex.planning.linear.schedule, which this file
// reads like.
#pragma once

#include <memory>

#include "plan_linear_sweep.hpp"

namespace qx::plan {

// What a plan over subspaces has to promise; qsim_ex.planning.compiled says what each number means.
struct Promise {
    double rich, piece, gain;
};

// Whether work is so full of CX, and fits so well into tiles, that a plan over subspaces may take less time.
bool is_worth_trying(
    const std::vector<Piece>& work, int num_bits, const Shape& shape, const Promise& promise, const Book& book);

// Makes a plan over subspaces of work that has a plan on bits, too, a step at a time.
class LinearPlanner {
  public:
    // program: the number program that the plan on bits began with. grows: whether the work begins in |0...0>; else all
    // amplitudes are there.
    LinearPlanner(const std::vector<Piece>& work, int num_bits, const Shape& shape, const Promise& promise, Book& book,
                  const NumberProgram& program, bool grows);

    // Compares the steps on bits with what a plan may save; returns whether one is to be made. shape, book: those of the
    // steps.
    bool pays(const StepArrays& on_bits, const Shape& shape, Book& book);
    // Does a bounded amount of work; returns false when the plan is done.
    bool advance();
    // Whether there is a plan, and it takes clearly less time than the steps on bits.
    bool is_better() const { return better_; }

    StepArrays steps;
    NumberProgram program;
    std::vector<int> at;  // for each bit that the work names the index bit that it is on in the end
    Mask flip() const { return work_.frame.flip; }

  private:
    void place();
    void place_new();
    void place_there();
    void finish();
    Mask zeros() const;

    int num_bits_;
    bool grows_;
    const Shape& shape_;
    Promise promise_;
    Book& book_;
    FramedWork work_;
    double on_bits_ = 0;  // the time of the other plan
    std::unique_ptr<GrowingSpace> growth_;
    std::vector<TileVisit> visits_;  // all sweeps, once they were chosen
    std::vector<Around> around_;     // and the layouts around them
    std::unique_ptr<LinearSweeps> sweeps_;
    std::size_t written_ = 0;
    bool better_ = false;
};

}  // namespace qx::plan
