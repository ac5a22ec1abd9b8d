// From work to stages, for a state that is larger than the memory of one device.
//
// divide (the work of each stage) → positions (the motion before it) → schedule (the steps of each stage)
//
// Of several candidate plans the fastest is kept (decision 0040). They differ in what candidates.hpp says of plans for one
// device, and in how work is divided and exchanged. None is best for all circuits, and planning takes longer than many a
// run. So the most promising ones come first, and how many are tried depends on how long the run takes that the first plan
// is for.
#pragma once

#include <deque>
#include <memory>

#include "planner/choice/attempt.hpp"
#include "planner/stages/linear_division.hpp"
#include "planner/stages/positions.hpp"
#include "planner/stages/stage_cost.hpp"

namespace qx::plan {

enum class Progress { busy, done, stuck, too_wide };

// Makes the stages of one plan, one after another.
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

// A division while it is made.
struct Dividing {
    Dividing(const std::vector<Piece>& pieces, int num_bits, const Levels& levels, const Shape& shape, Mask fresh,
             const StageChoice& choice);

    std::vector<WorkOutline> work, weighed;
    Divider divider;
};

// Makes some candidate plans; the fastest wins.
class Staging {
  public:
    // lows: choices of the lowest bits of a new state. stays: whether a full state in host memory ends in the layout in
    // which it begins. parities: see OnLevels.
    Staging(CandidatePlan candidate, int num_bits, const Levels& levels, const Shape& shape, Mask fresh,
            const std::vector<Mask>& lows, const Rates& rates, bool stays, int parities);

    Progress advance();
    // The plan that was made.
    StageAttempt& made() { return *made_; }

  private:
    enum class State { divide_first, linear, divide, attempt, done };
    // What is tried now: a plan with far parities, the first choice, more choices, and choices that exchange otherwise.
    enum class Trying { parities, first, more, others };

    struct Times {
        double whole = 0, moving = 0, waiting = 0;
        StageChoice choice;
    };

    void divided();
    void searched();
    void begin(const StageChoice& choice);
    void begin(CandidatePlan candidate, Division division, const StageChoice& choice);
    void stay();
    bool is_worse() const;
    void timed();
    void passed(const std::vector<StageCost>& costs);
    void list_more(const std::vector<StageCost>& costs);
    void list_others();
    void next();

    CandidatePlan candidate_;
    int num_bits_;
    const Levels levels_;
    const Shape shape_;
    Mask fresh_;
    const Rates rates_;
    bool stays_;
    int parities_;
    bool small_, grows_, layered_;
    std::vector<StageChoice> choices_;
    State state_ = State::divide_first;
    Trying trying_ = Trying::first;
    std::unique_ptr<Dividing> dividing_;
    Division division_;
    std::unique_ptr<LinearSearch> search_;
    std::deque<StageChoice> queue_;
    std::unique_ptr<StageAttempt> attempt_, made_;
    std::unique_ptr<LeastWork> least_;  // of the attempt
    double made_whole_ = 0;
    bool has_best_ = false, is_only_ = false;
    Times best_;  // of the plans on bits
};

}  // namespace qx::plan
