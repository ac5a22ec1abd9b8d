// The stages of one plan, one after another.
//
// Of each portion of a division: the motion that brings its bits near (positions.hpp), and then the steps of its work.
#pragma once

#include <deque>
#include <memory>

#include "planner/choice/attempt.hpp"
#include "planner/stages/division.hpp"
#include "planner/stages/parities/linear_division.hpp"
#include "planner/stages/positions.hpp"

namespace qx::plan {

enum class Progress { busy, done, stuck, too_wide };

class StageAttempt {
  public:
    // given: with the work of the division.
    StageAttempt(CandidatePlan given, Division division, const StageChoice& choice, int num_bits, const Levels& levels,
                 const Shape& shape, Mask fresh);

    // Does a bounded amount of work.
    Progress advance();

    // The positions that are fresh at the beginning of the current stage.
    Mask stage_fresh() const { return stage_fresh_; }

    const StageChoice choice;
    CandidatePlan candidate;
    StepArrays steps;
    std::vector<StageRow> stages;
    Positions positions;  // of every bit after the stages
    // Of plans with far parities which bit each bit of the work has become in the end, and which are inverted.
    Renamed renamed;

  private:
    using Act = void (StageAttempt::*)();

    void next_portion();
    void bring();
    void begin_pass();
    void begin_exchange();
    void add();
    void shuffle();
    void clear();
    void begin(Motion motion);
    void close();
    void work_off();
    void worked_off();
    void clear_fresh(Mask places);
    bool in_pass() const;
    const StageWork& portion() const { return division_.passes[pass_][portion_]; }
    Needs later() const;
    Needs windows() const;

    const Division division_;
    int num_bits_;
    const Levels& levels_;
    const Shape& shape_;
    bool floats_, stuck_ = false, cleared_ = false;
    std::size_t pass_ = 0, portion_ = 0;
    std::deque<Act> then_;  // what is to be done before the next portion
    Motion motion_;         // the motion, the fresh positions and the work of the current stage
    Mask stage_fresh_ = 0, owed_ = 0;
    Numbers work_;
    // The work that is being turned into steps.
    std::vector<Piece> pieces_;
    std::vector<WorkOutline> outlines_;
    Mask fresh_before_ = 0;
    std::size_t first_step_ = 0;
    std::unique_ptr<Floating> floating_;
    std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace qx::plan
