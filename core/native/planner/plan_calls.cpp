// Planning as Python calls it; qsim_ex/planning/planner.py says what the integers mean.

#include "planner/plan.hpp"  // first, since it defines __GLIBC__ where there is one

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/export.hpp"
#include "base/owned.hpp"

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

QX_EXPORT(plan_free, (qx::Int planner)) {
    Owned<Planner>::drop(planner);
    return 0;
}
