// A plan from a circuit's instructions: the steps of planning in their order.

#include "planner/plan.hpp"

#include <limits>
#include <memory>

#include "planner/rewrite/rotate.hpp"
#include "planner/tiles/long_sweeps.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

// Whether an `Index` counts all numbers.
bool fit(const PlanContext& context, const CoefficientProgram& program) {
    Int most = std::numeric_limits<Index>::max();
    auto holds = [&](const std::vector<Index>& places) { return static_cast<Int>(places.size()) <= most; };
    return program.listed_size() <= most && holds(context.places) && holds(context.listed);
}

}  // namespace

Planner::Planner(std::unique_ptr<Reader> reader, int num_bits, const Layout& start, const Shape& shape, Mask fresh,
                 std::vector<Mask> lows, const Promise& promise, double most, std::unique_ptr<OnLevels> on_levels)
    : PlanSteps{{}, std::make_unique<PlanContext>()}, start(start), num_bits_(num_bits), shape_(shape), fresh_(fresh),
      reader_(std::move(reader)), program_(0), canceller_(new Canceller(*context, reader_->size(), shape_.rules)),
      controls_(new Controls(*context, program_, reader_->size(), shape_.rules)),
      absorber_(new Absorber(this->start, shape_, fresh_, *context)),
      fuser_(new Fuser(*context, program_, trials_, shape_.item_work, shape_.rules)), lows_(std::move(lows)),
      promise_(promise), most_(most), on_levels_(std::move(on_levels)) {
    fuser_->reserve(static_cast<std::size_t>(reader_->size()));
}

bool Planner::read() {
    const bool is_first = reader_->at_begin();
    bool fine = reader_->next(circuit_, *context);
    if (is_first) program_ = CoefficientProgram(reader_->num_operands());
    absorber_->begin(circuit_);
    state_ = State::absorb;
    return fine;
}

Planner::State Planner::advance() {
    switch (state_) {
        case State::absorb: absorb(); break;
        case State::join: join(); break;
        case State::rotate: rotate_all(); break;
        case State::choose: choose(); break;
        case State::stages: make_stages(); break;
        case State::read:
        case State::done:
        case State::longer:
        case State::stuck:
        case State::too_large:
        case State::too_wide: break;
    }
    if (!fits()) state_ = State::too_large;
    return state_;
}

// Whether an `Index` counts all numbers so far.
bool Planner::fits() const {
    if (!best_) return !context || fit(*context, program_);
    const CandidatePlan* current = best_->current();
    return !current || fit(*current->context, current->program);
}

void Planner::absorb() {
    Piece piece;
    auto fuse = [&](const Piece& next) {
        if (!phase_.takes(next, *context)) fuser_->add(next);
    };
    auto control = [&](const Piece& next) {
        if (shape_.relabels && has(Rule::controls)) controls_->add(next, fuse);
        else fuse(next);
    };
    for (int k = 0; k < thresholds.instructions_at_once && !absorber_->done(); ++k)
        if (absorber_->next(piece) && !phase_.takes(piece, *context)) {
            if (shape_.relabels && has(Rule::cancel)) canceller_->add(piece, control);  // which may exchange bits
            else control(piece);
        }
    if (!absorber_->done()) return;
    if (!reader_->done()) {
        state_ = State::read;
        return;
    }
    if (!canceller_->finish(thresholds.instructions_at_once, control) ||
        !controls_->finish(thresholds.instructions_at_once, fuse))
        return;
    circuit_ = Circuit();
    end = moved(absorber_->layout(), canceller_->to());
    absorber_.reset();
    canceller_.reset(), controls_.reset();
    work_ = fuser_->finish();
    fuser_.reset();
    state_ = State::rotate;
    if (num_bits_ >= shape_.start && shape_.dense >= Fuser::most_bits && has(Rule::runs)) {
        joiner_ = std::make_unique<RunJoiner>(std::move(work_), *context, program_, trials_, shape_.item_work, shape_.rules);
        state_ = State::join;
    }
}

void Planner::join() {
    if (joiner_->advance()) return;
    work_ = joiner_->finish();
    joiner_.reset();
    state_ = State::rotate;
}

void Planner::rotate_all() {
    bool cheap = shape_.item_work <= thresholds.item_work;
    if (has(Rule::gather)) work_ = gather(std::move(work_), *context, program_);
    if (cheap) work_ = rotate(std::move(work_), *context, program_, trials_, phase_, shape_.rules);
    phase_.join(work_, *context, program_);
    number_pieces(work_, *context);
    trials_ = Trials();
    state_ = State::choose;
}

// Goes on with plans for one device, and takes the best.
void Planner::choose() {
    if (on_levels_) return begin_stages();
    if (!best_) best_ = std::make_unique<BestPlan>(given(), num_bits_, shape_, fresh_, std::move(lows_), promise_, most_);
    switch (best_->advance()) {
        case BestPlan::State::longer: state_ = State::longer; return;
        case BestPlan::State::stuck: state_ = State::stuck; return;
        case BestPlan::State::done: break;
        default: return;
    }
    start = best_->candidate.start, end = best_->candidate.end;
    context = std::move(best_->candidate.context), program_ = std::move(best_->candidate.program);
    steps = std::move(best_->steps);
    reordered = best_->reordered, floats = best_->floats, linear = best_->linear, lows = best_->lows;
    best_.reset();
    state_ = State::done;
}

void Planner::begin_stages() {
    staging_ =
        std::make_unique<Staging>(given(), num_bits_, on_levels_->levels, shape_, fresh_, lows_, on_levels_->rates,
                                  on_levels_->stays, shape_.relabels && has(Rule::far_parities) ? on_levels_->parities : 0);
    state_ = State::stages;
}

void Planner::make_stages() {
    switch (staging_->advance()) {
        case Progress::busy: return;
        case Progress::stuck: state_ = State::stuck; return;
        case Progress::too_wide: state_ = State::too_wide; return;
        case Progress::done: break;
    }
    take(staging_->made());
    staging_.reset();
    state_ = State::done;
}

// Takes the steps of stages, and writes where bits begin and end.
void Planner::take(StageAttempt& made) {
    start = made.candidate.start, end = made.candidate.end;
    parities = !made.renamed.at.empty();
    if (parities) end = moved({end.address, end.flip ^ made.renamed.flip}, made.renamed.at);
    std::vector<int> homes = made.positions.homes();
    each(made.positions.fresh, [&](int bit) { left |= unit(homes[static_cast<std::size_t>(bit)]); });
    if (on_levels_->place) start = moved(start, made.positions.starts());
    end = moved(end, homes);
    context = std::move(made.candidate.context), program_ = std::move(made.candidate.program), steps = std::move(made.steps);
    const std::vector<std::size_t> ends = cut_long_sweeps(steps, on_levels_->levels.local, shape_, *context);
    for (const StageRow& stage : made.stages) {
        const Motion& motion = stage.motion;
        const std::size_t end = ends.empty() || !stage.end ? stage.end : ends[stage.end - 1];
        stages.insert(stages.end(), {static_cast<Int>(end), static_cast<Int>(stage.fresh), motion.kind,
                                     static_cast<Int>(motion.swaps.size())});
        for (auto [one, other] : motion.swaps) stages.push_back(one), stages.push_back(other);
        stages.push_back(static_cast<Int>(motion.bits.size()));
        stages.insert(stages.end(), motion.bits.begin(), motion.bits.end());
    }
}

void Planner::list() {
    if (!listed_) listed_ = std::make_unique<CoefficientArrays>(program_.listed(*context, steps.packed));
}

}  // namespace qx::plan
