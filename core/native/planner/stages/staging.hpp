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

#include "planner/stages/parities/linear_division.hpp"
#include "planner/stages/stage_attempt.hpp"
#include "planner/stages/stage_cost.hpp"

namespace qx::plan {

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
