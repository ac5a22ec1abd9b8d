// What an interpreter does for the sweeps of a plan, as qsim_ex.planning.cost asks.

#include <cmath>

#include "base/export.hpp"
#include "planner/steps.hpp"
#include "planner/tiles/step_time.hpp"

namespace {

using namespace qx::plan;

// Multiply-adds per amplitude as which each of these counts beside its arithmetic; a condition on a matrix of several bits
// twice as many for each of them.
struct Extra {
    explicit Extra(const double* weights)
        : register_block(weights[0]), table(weights[1]), phase(weights[2]), permute(weights[3]), reading(weights[4]),
          condition(weights[5]) {}

    const double register_block, table, phase, permute, reading, condition;

    double of(const Item& item) const {
        switch (static_cast<Kind>(item.kind)) {
            case Kind::mix:
                if (item.num_reads) return reading;
                return item.when_mask ? std::ldexp(condition, static_cast<int>(item.num_bits) - 1) : 0;
            case Kind::diagonal: return item.num_reads ? table : phase;
            default: return permute;
        }
    }
    double of(const Step& sweep, const StepArrays& plan) const {
        double work = 0;
        for (auto k = static_cast<std::size_t>(sweep.begin); k < static_cast<std::size_t>(sweep.end); ++k) {
            const RegisterBlock& block = plan.register_blocks[k];
            work += register_block;
            for (auto at = static_cast<std::size_t>(block.begin); at < static_cast<std::size_t>(block.end); ++at)
                work += of(plan.items[at]);
        }
        return work;
    }
};

}  // namespace

// Writes how many multiply-adds per amplitude of the whole state the sweeps of a plan (its `PlanSteps`) take longer.
QX_EXPORT(plan_interpreted, (qx::Int steps, const double* weights, double* out)) {
    const StepArrays& plan = reinterpret_cast<const PlanSteps*>(steps)->steps;
    const Extra extra(weights);
    *out = 0;
    for (const Step& step : plan.steps)
        if (step.type == Step::sweep)
            *out += std::ldexp(extra.of(step, plan), -count(static_cast<Mask>(step.fresh & ~step.tile)));
    return 0;
}

// Writes the multiply-adds per amplitude of a sweep of a plan (its `PlanSteps`). block: the most of a matrix on tensor
// cores; below 0 where there are none.
QX_EXPORT(sweep_interpreted, (qx::Int steps, qx::Int number, const double* weights, const double* block, double* out)) {
    const PlanSteps& plan = *reinterpret_cast<const PlanSteps*>(steps);
    Shape shape{};
    shape.block = *block, shape.has_blocks = *block >= 0;
    const Step& sweep = plan.steps.steps[static_cast<std::size_t>(number)];
    *out = sweep_work(sweep, plan.steps, *plan.context, shape).arithmetic + Extra(weights).of(sweep, plan.steps);
    return 0;
}
