// The candidate plans: of several the one is kept whose steps take least time.
//
// Predictions choose which candidates are made. First the default: a diagonal costs what it costs alone, and the state
// grows for the arithmetic of a pass. Then, if a run takes long enough, candidates in which a diagonal costs its share of a
// table, and the state grows for other amounts of arithmetic. A prediction sees sweeps, but neither register blocks nor
// dense blocks: predictions within 2 % belong to plans that are 10 % apart. So the best few are made to the end and compared
// (decision 0036). A circuit full of CX is planned in a CNOT frame before that (linear/schedule.hpp).
#pragma once

#include <memory>

#include "planner/growth.hpp"

namespace qx::plan {

// What candidate plans differ in. low: the bits that are the lowest in the beginning. floats: whether the lowest bits
// change. worth: see Growth. waits: whether bits join last for which hardly any work waits.
struct PlanChoice {
    Mask low = 0;
    bool floats = false;
    double worth = 0;
    bool waits = false;

    PlanChoice turned() const { return {low, !floats, worth, waits}; }
    PlanChoice waiting() const { return {low, floats, worth, true}; }
};

// Finds the candidates that are made, by predictions, one after another: first the default, then others.
class CandidateSearch {
  public:
    // lows: the choices of the lowest bits of a new state that may be tried, then those of fewer bits; none if its wires
    // have their places.
    CandidateSearch(const std::vector<Piece>& work, int num_bits, const Shape& shape, Mask fresh,
                    const std::vector<Mask>& lows);

    // Makes some predictions; returns false when the default is known, and when all candidates are.
    bool advance();
    PlanChoice standard() const { return standard_; }
    // The predicted time of the default, in passes over one amplitude; 0 where nobody asks.
    double least() const { return least_; }
    // Whether there may be others.
    bool looks_on() const { return room_; }
    const std::vector<PlanChoice>& others() const { return found_; }

  private:
    struct Tried {
        double time = std::numeric_limits<double>::infinity();
        std::size_t number = 0;
        PlanChoice choice{};
    };

    enum class State { first, lows, turn, standard, others, turned, waiting, done };

    void begin();
    void try_low();
    void turn();
    void list();
    void try_other();
    void try_turned();
    void list_waiting();
    void try_waiting();
    void finish();
    // The other candidates to try, the most promising first.
    std::vector<PlanChoice> listed() const;
    void add(PlanChoice choice);
    // The best of the candidates that were tried, at most so many; the first of equals first.
    std::vector<Tried> best(std::size_t most) const;
    double time(const PlanChoice& choice, double most);
    // How long a run takes, in the time as which trying a choice counts.
    double runs(double time) const;

    const std::vector<Piece>& work_;
    int num_bits_;
    const Shape& shape_;
    const Shape narrow_;  // with fewer lowest bits
    Mask fresh_;
    std::vector<Mask> lows_, narrow_lows_;
    bool may_float_;
    State state_ = State::first;
    // Predictions with all lowest bits, and with fewer; where diagonals cost what they cost alone, and in tables.
    std::unique_ptr<CostEstimate> estimates_[2][2];
    std::size_t next_ = 0, tries_ = 0;  // the number of the next choice, and how many are tried
    PlanChoice standard_, turned_;
    double least_ = 0, turned_time_ = 0;
    std::size_t more_ = 0, room_ = 0;  // how many predictions take the time for other candidates, and how many may be made
    std::vector<PlanChoice> others_;
    std::vector<Tried> tried_;
    Tried waiting_;  // the best of those in which bits wait, if it takes clearly less time
    std::vector<std::pair<PlanChoice, CostEstimate::Prediction>> predicted_;
    std::vector<PlanChoice> found_;
};

}  // namespace qx::plan
