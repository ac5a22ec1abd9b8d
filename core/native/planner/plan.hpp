// A plan from a circuit's instructions: the steps of planning in their order.
//
// absorb -> cancel -> controls -> fuse -> join runs -> gather -> rotate -> choose candidates -> (grow a tile ->
// grow its register blocks -> items)* -> long sweeps as several -> coefficient program; a circuit full of CX may then be
// planned once more, in a CNOT frame. On several levels work is divided into stages instead. Phases that touch no bit pass
// by, from `absorb` to the work that `rotate` leaves. The order of planning's steps is fixed here, and for candidates in
// choice/best_plan.hpp. What a plan promises is in tests/support/promises.py, and tests run plans to the letter.
#pragma once

#include <memory>

#include "planner/choice/best_plan.hpp"
#include "planner/rewrite/cancel.hpp"
#include "planner/rewrite/controls/controls.hpp"
#include "planner/rewrite/global_phase.hpp"
#include "planner/rewrite/runs.hpp"
#include "planner/stages/staging.hpp"
#include "planner/steps.hpp"
#include "planner/tiles/step_time.hpp"

namespace qx::plan {

// What is given for a state on several levels. stays: as in qsim_ex.steps.Shape. place: whether wires on fresh bits may
// begin on other fresh bits. parities: how many stages a plan with far parities may have, which is taken then; -1: one is
// taken where it is faster, 0: none is looked for.
struct OnLevels {
    Levels levels;
    Rates rates;
    bool stays, place;
    int parities;
};

class Planner : public PlanSteps {
  public:
    // lows: as `CandidateSearch` takes them. most: a plan for one device is wanted if it takes less, in passes over the full
    // state. on_levels: null for a state on one device.
    Planner(std::unique_ptr<Reader> reader, int num_bits, const Layout& start, const Shape& shape, Mask fresh,
            std::vector<Mask> lows, const Promise& promise, double most, std::unique_ptr<OnLevels> on_levels);

    enum class State { read, absorb, join, rotate, choose, stages, done, longer, stuck, too_large, too_wide };

    // Does a bounded amount of work; the last state is `done`, or `longer` if the plan takes as long as nobody wants,
    // `stuck` if a sweep would run no work, `too_large` if there are more numbers than an `Index` counts, or `too_wide` if
    // an operation mixes more bits than can be local. In state `read` it waits for `read`.
    State advance();
    // Reads the next part of the circuit, with the interpreter's lock held; returns false after a Python exception.
    bool read();

    // The time of a finished plan on one device, in passes over the full state.
    double time() const { return time_of(steps, num_bits_, shape_.with(lows), *context); }

    // Whether the circuit was read in parts.
    bool is_large() const { return reader_->parts() > 1; }

    Layout start, end;
    bool reordered = false, floats = false, linear = false;
    int lows = 0;  // of a plan for one device, how many bits are lowest
    // On several levels: of each stage the end of its steps, the fresh positions, the kind of motion, and how many pairs of
    // positions, these pairs, how many bits, these bits. Whether parities are far; and the index bits that are fresh in the
    // end.
    std::vector<Int> stages;
    bool parities = false;
    Mask left = 0;

    const CoefficientProgram& program() const { return program_; }
    // The coefficient program with all its places, once `list` has made it.
    const CoefficientArrays& listed() const { return *listed_; }
    void list();

  private:
    bool has(Rule rule) const { return shape_.rules.has(rule); }
    bool fits() const;
    // All that candidate plans are made from.
    CandidatePlan given() { return {std::move(context), std::move(program_), std::move(work_), start, end}; }
    void absorb();
    void join();
    void rotate_all();
    void choose();
    void begin_stages();
    void make_stages();
    void take(StageAttempt& made);

    int num_bits_;
    Shape shape_;
    Mask fresh_;
    State state_ = State::read;
    std::unique_ptr<Reader> reader_;
    Circuit circuit_;  // the part that was read last
    CoefficientProgram program_;
    Trials trials_;  // of the pieces that are fused
    GlobalPhase phase_;
    std::unique_ptr<Canceller> canceller_;
    std::unique_ptr<Controls> controls_;
    std::unique_ptr<Absorber> absorber_;
    std::unique_ptr<Fuser> fuser_;
    std::unique_ptr<RunJoiner> joiner_;
    std::vector<Piece> work_;
    std::vector<Mask> lows_;
    Promise promise_;
    double most_;
    std::unique_ptr<BestPlan> best_;  // while it is made
    std::unique_ptr<OnLevels> on_levels_;
    std::unique_ptr<Staging> staging_;
    std::unique_ptr<CoefficientArrays> listed_;
};

}  // namespace qx::plan
