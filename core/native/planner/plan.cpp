// A plan from a circuit's instructions: the steps of planning in their order.

#include "planner/plan.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "base/export.hpp"
#include "base/owned.hpp"
#include "planner/blocks/turned.hpp"
#include "planner/encode/writer.hpp"
#include "planner/rewrite/rotate.hpp"
#include "planner/tiles/long_sweeps.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

// A plan on bits may be predicted to take so many times what is wanted, and the default may take so many times that: of 555
// that were made six took less than a third of what had been predicted, and two less than 0.53 of the default.
constexpr double doubt = 3, doubt_of_default = 1.5;

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
        case State::attempt: attempt(); break;
        case State::linear: try_linear(); break;
        case State::others: choose_others(); break;
        case State::stages: make_stages(); break;
        case State::read:
        case State::done:
        case State::longer:
        case State::stuck:
        case State::too_large:
        case State::too_wide: break;
    }
    bool fits =
        attempt_ ? fit(*attempt_->candidate.context, attempt_->candidate.program) : !context || fit(*context, program_);
    if (!fits) state_ = State::too_large;
    return state_;
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

// Finds the default by predictions, one after another; see candidates.hpp.
void Planner::choose() {
    if (on_levels_) return begin_stages();
    if (!candidates_) {
        candidate_ = std::make_unique<CandidatePlan>(
            CandidatePlan{std::move(context), std::move(program_), std::move(work_), start, end});
        candidates_ = std::make_unique<CandidateSearch>(candidate_->work, num_bits_, shape_, fresh_, lows_);
    }
    if (candidates_->advance()) return;
    bool grows = fresh_ == below(num_bits_), whole = grows || !fresh_;
    bool may_grow = !grows || has(Rule::growth);
    if (shape_.linear && whole && may_grow &&
        is_worth_trying(candidate_->work, num_bits_, shape_, promise_, *candidate_->context))
        linear_ = std::make_unique<LinearPlanner>(candidate_->copy(), num_bits_, shape_, promise_, grows);
    const double passes = candidates_->least() / static_cast<double>(unit(num_bits_));
    if (passes > doubt * most_) {
        state_ = linear_ && linear_->pays(passes, most_) ? State::linear : State::longer;
        return;
    }
    begin_attempt(candidates_->standard(), !candidates_->looks_on());
}

// Begins the plan in some choice; the last one needs no copy.
void Planner::begin_attempt(PlanChoice choice, bool is_last) {
    CandidatePlan candidate = is_last ? std::move(*candidate_) : candidate_->copy();
    attempt_ = std::make_unique<Attempt>(std::move(candidate), choice, num_bits_, shape_, fresh_, !lows_.empty());
    state_ = State::attempt;
}

// Goes on with the plan in one choice; of several the one is kept that takes least time, the first of equals.
void Planner::attempt() {
    if (!attempt_->advance()) {
        state_ = State::stuck;
        return;
    }
    bool worse = made_ && attempt_->time() >= made_->time();
    if (!attempt_->done() && !worse) return;
    bool is_first = !made_;
    if (!worse) made_ = std::move(attempt_);
    attempt_.reset();
    if (!is_first) return next_attempt();
    auto passes = [&] { return time_of(made_->steps, num_bits_, shape_.with(made_->lows), *made_->candidate.context); };
    state_ = linear_ && linear_->pays(passes(), most_) ? State::linear : on_bits();
}

// Goes on with plans in a CNOT frame, and takes the best one if it is clearly better than the one on bits.
void Planner::try_linear() {
    if (linear_->advance()) return;
    state_ = on_bits();
    if (LinearAttempt* found = linear_->better()) {
        linear = true, floats = shape_.floats && !fresh_, lows = shape_.low;
        steps = std::move(found->steps), program_ = std::move(found->program), context = std::move(found->context);
        start = linear_->candidate.start;
        end = moved({linear_->candidate.end.address, linear_->candidate.end.flip ^ linear_->flip()}, found->at);
        made_.reset(), candidates_.reset(), candidate_.reset();
        cut_long_sweeps(steps, num_bits_, shape_.with(lows), *context);
        state_ = State::done;
    }
    linear_.reset();
}

// Goes on with plans on bits, if the default tells of one that is wanted.
Planner::State Planner::on_bits() {
    const double most = doubt_of_default * most_ * static_cast<double>(unit(num_bits_));
    return made_ && (shape_.counted == 0 || made_->time() <= most) ? State::others : State::longer;
}

// Finds other candidates by predictions, one after another.
void Planner::choose_others() {
    if (!candidates_->advance()) next_attempt();
}

void Planner::next_attempt() {
    const std::vector<PlanChoice>& others = candidates_->others();
    if (attempts_ == others.size()) return finish();
    PlanChoice choice = others[attempts_++];
    begin_attempt(choice, attempts_ == others.size());
}

void Planner::finish() {
    start = made_->candidate.start, end = made_->candidate.end;
    context = std::move(made_->candidate.context), program_ = std::move(made_->candidate.program),
    steps = std::move(made_->steps);
    reordered = made_->reordered, floats = made_->floats, lows = made_->lows;
    made_.reset(), candidates_.reset(), linear_.reset(), candidate_.reset();
    cut_long_sweeps(steps, num_bits_, shape_.with(lows), *context);
    state_ = std::isfinite(most_) && time() >= most_ ? State::longer : State::done;
}

void Planner::begin_stages() {
    CandidatePlan candidate{std::move(context), std::move(program_), std::move(work_), start, end};
    staging_ = std::make_unique<Staging>(std::move(candidate), num_bits_, on_levels_->levels, shape_, fresh_, lows_,
                                         on_levels_->rates, on_levels_->stays,
                                         shape_.relabels && has(Rule::far_parities) ? on_levels_->parities : 0);
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

// --- what Python calls; planning/planner.py says what the integers mean ----------------------------------------------

namespace {

using namespace qx::plan;
using qx::Owned;

// Gives memory that planning has freed back to the system, which free() does with the largest blocks alone.
void trim() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

// Reads whether there are levels, and then local, peers, slice, ranks, mesh, stays, place, parities, how many layers, and
// their bits; and their rates, those of `Rates` and then of the layers.
std::unique_ptr<OnLevels> on_levels(const qx::Int* given, const double* rates) {
    if (!*given++) return nullptr;
    auto at = [&](int k) { return static_cast<int>(given[k]); };
    Levels levels{at(0), at(1), at(2), at(3), given[4] != 0, {}};
    auto out = std::make_unique<OnLevels>(OnLevels{std::move(levels), {}, given[5] != 0, given[6] != 0, at(7)});
    std::memcpy(&out->rates, rates, sizeof out->rates);
    rates += sizeof out->rates / sizeof *rates;
    for (int k = 0; k < at(8); ++k) out->levels.layers.push_back({at(9 + k), rates[k]});
    return out;
}

// Returns a new planner that has read the beginning of a circuit; null after a Python exception. See `plan_begin`.
Planner* begun(qx::python::Object* ops, const qx::Int* types, const qx::Int* given, const double* rates) {
    auto reader = std::make_unique<Reader>(ops, types);
    const qx::Int* shape = given;
    Shape fitted{static_cast<int>(shape[0]),
                 static_cast<int>(shape[1]),
                 static_cast<int>(shape[2]),
                 static_cast<int>(shape[3]),
                 static_cast<int>(shape[4]),
                 static_cast<int>(shape[5]),
                 static_cast<int>(shape[6]),
                 static_cast<int>(shape[7]),
                 static_cast<int>(shape[8]),
                 shape[9] != 0,
                 shape[12] != 0,
                 shape[13] != 0,
                 shape[14] != 0,
                 rates[0],
                 rates[1],
                 rates[2],
                 rates[3],
                 rates[4],
                 rates[5],
                 rates[6],
                 static_cast<int>(shape[15]),
                 rates[7],
                 rates[8],
                 rates[9],
                 Rules(static_cast<Mask>(shape[16]))};
    fitted.follow_rules();
    given += 17;
    int num_bits = static_cast<int>(*given++);
    Layout start{{given, given + num_bits}, static_cast<Mask>(shape[10])};
    given += num_bits;
    const qx::Int tried = *given++;
    std::vector<Mask> lows;
    if (fitted.rules.has(Rule::lowest)) lows.assign(given, given + tried);
    given += tried;
    auto made =
        std::make_unique<Planner>(std::move(reader), num_bits, start, fitted, static_cast<Mask>(shape[11]), std::move(lows),
                                  Promise{rates[10], rates[11], rates[12]}, rates[13], on_levels(given, rates + 14));
    return made->read() ? made.release() : nullptr;
}

// Takes a step; returns what `plan_advance` does.
qx::Int advanced(Planner& made) {
    switch (made.advance()) {
        case Planner::State::done:
            if (made.is_large()) trim();
            return 0;
        case Planner::State::read: return 2;
        case Planner::State::longer: return -4;
        case Planner::State::stuck: return -1;
        case Planner::State::too_large: return -2;
        case Planner::State::too_wide: return -3;
        default: return 1;
    }
}

}  // namespace

// Returns a new planner for a tuple of operations; 0 if they cannot be read, and then a Python exception is raised. types:
// as in `read`. given: the integers of `planned` in planning/planner.py. rates: item_work, balance, block,
// seen, transposed, counted, exchanged, scattered, elsewhere, permute, the numbers of `Promise`, the passes over the full
// state that a plan takes which nobody wants, and for several levels their rates.
QX_EXPORT(plan_begin, (qx::python::Object* ops, const qx::Int* types, const qx::Int* given, const double* rates)) {
    return Owned<Planner>::make([&] { return begun(ops, types, given, rates); });
}

// Reads the next part of the circuit, for which the planner waits; see `plan_begin`, whose operations and types it still
// reads.
QX_EXPORT(plan_read, (qx::Int planner)) {
    return Owned<Planner>::change(planner, [](Planner& made) { return made.read() ? 0 : -1; });
}

// Goes on for about so many milliseconds; returns 0 when the plan is done, 1 while it is not, 2 if it waits for `plan_read`,
// -1 for a broken plan, -2 for one with too many numbers, -3 for an operation that mixes more bits than can be local, -4 for
// one that nobody wants.
QX_EXPORT(plan_advance, (qx::Int planner, qx::Int milliseconds)) {
    return Owned<Planner>::change(
        planner, [&](Planner& made) { return qx::worked_for(milliseconds, [&] { return advanced(made); }); });
}

// Writes the address and the length of each array of a finished plan, and then numbers, the last of which is the address of
// its `PlanSteps`; the planner keeps all until it is freed.
QX_EXPORT(plan_arrays, (qx::Int planner, qx::Int* out)) {
    Planner* made = &Owned<Planner>::at(planner);
    auto write = [&](const auto& values) {
        *out++ = reinterpret_cast<qx::Int>(values.data());
        *out++ = static_cast<qx::Int>(values.size());
    };
    write(made->steps.steps), write(made->steps.register_blocks), write(made->steps.items), write(made->steps.packed);
    write(made->context->words), write(made->context->values);
    write(made->context->patterns.all().bytes()), write(made->context->patterns.all().ends());
    write(made->context->labels.bytes()), write(made->context->labels.ends());
    write(made->start.address), write(made->end.address);
    const CoefficientProgram& program = made->program();
    *out++ = static_cast<qx::Int>(made->start.flip), *out++ = static_cast<qx::Int>(made->end.flip);
    *out++ = program.num_operands(), *out++ = made->reordered, *out++ = made->floats;
    *out++ = made->linear, *out++ = made->lows;
    const PlanContext& context = *made->context;
    std::size_t places = (context.places.size() + context.listed.size()) * sizeof(Index);
    *out++ = program.size(), *out++ = static_cast<qx::Int>(program.bytes() + places);
    *out++ = std::ranges::count_if(made->steps.steps, [](const Step& step) { return step.type != Step::sweep; });
    *out++ = reinterpret_cast<qx::Int>(static_cast<PlanSteps*>(made));
    return 0;
}

// Writes of a finished plan on several levels address and length of `Planner::stages`, whether parities are far, and which
// index bits are fresh in the end.
QX_EXPORT(plan_stages, (qx::Int planner, qx::Int* out)) {
    Planner* made = &Owned<Planner>::at(planner);
    out[0] = reinterpret_cast<qx::Int>(made->stages.data()), out[1] = static_cast<qx::Int>(made->stages.size());
    out[2] = made->parities, out[3] = static_cast<qx::Int>(made->left);
    return 0;
}

// Writes how long a finished plan on one device takes, in passes over the full state.
QX_EXPORT(plan_time, (qx::Int planner, double* out)) {
    *out = Owned<Planner>::at(planner).time();
    return 0;
}

// Writes the address and the length of each array of the coefficient program as qsim_ex.steps.numbers has it. It is called
// with the interpreter's lock held, so that one thread alone makes them.
QX_EXPORT(plan_listed, (qx::Int planner, qx::Int* out)) {
    return Owned<Planner>::extend(planner, [&](Planner& plan) {
        plan.list();
        auto write = [&](const auto& values) {
            *out++ = reinterpret_cast<qx::Int>(values.data());
            *out++ = static_cast<qx::Int>(values.size());
        };
        const CoefficientArrays& made = plan.listed();
        write(made.program), write(made.places), write(made.incidence), write(made.packed);
        return 0;
    });
}

// Returns an encoder of the sweeps of a plan (its `PlanSteps`), for a state of 2^num_bits amplitudes and vectors of
// 2^lane_bits real numbers of `real_bytes` bytes.
QX_EXPORT(plan_encode_begin, (qx::Int steps, qx::Int num_bits, qx::Int lane_bits, qx::Int real_bytes)) {
    auto* plan = reinterpret_cast<const PlanSteps*>(steps);
    return Owned<Encoder>::make([&] {
        return new Encoder(*plan->context, plan->steps, static_cast<int>(num_bits), static_cast<int>(lane_bits),
                           static_cast<int>(real_bytes));
    });
}

// Goes on for about so many milliseconds; returns 0 when all sweeps are encoded, 1 while they are not.
QX_EXPORT(plan_encode, (qx::Int encoder, qx::Int milliseconds)) {
    return Owned<Encoder>::change(
        encoder, [&](Encoder& made) { return qx::worked_for(milliseconds, [&] { return qx::Int{made.advance()}; }); });
}

// Writes where the programs of encoded sweeps begin, one behind the other, the bytes of all, and how many dense blocks may
// get other numbers.
QX_EXPORT(plan_encoded, (qx::Int encoder, qx::Int* out)) {
    const EncodedSweeps& made = Owned<Encoder>::at(encoder).sweeps();
    out[0] = reinterpret_cast<qx::Int>(made.programs.data()), out[1] = static_cast<qx::Int>(made.bytes());
    out[2] = Owned<Encoder>::at(encoder).links().turnable();
    return 0;
}

// Writes other numbers for dense blocks in place of those among all packed numbers of the plan; see `turn_blocks`.
QX_EXPORT(plan_turn_blocks, (qx::Int encoder, void* packed)) {
    const qx::plan::BlockLinks& links = Owned<Encoder>::at(encoder).links();
    return qx::guarded([&] { return turn_blocks(links.blocks, static_cast<std::complex<double>*>(packed)); });
}

QX_EXPORT(plan_free_encoded, (qx::Int encoder)) {
    Owned<Encoder>::drop(encoder);
    return 0;
}

QX_EXPORT(plan_free, (qx::Int planner)) {
    Owned<Planner>::drop(planner);
    return 0;
}
