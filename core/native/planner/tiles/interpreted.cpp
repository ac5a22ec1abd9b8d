// What an interpreter does for the sweeps of a plan beside their arithmetic, as qsim_ex.planning.cost.first_run asks.

#include <cmath>

#include "base/export.hpp"
#include "planner/steps.hpp"

namespace {

using namespace qx::plan;

// Multiply-adds per amplitude as which each of these counts.
struct Extra {
    double register_block, table, phase, permute, reading, condition;

    double of(const Item& item) const {
        switch (static_cast<Kind>(item.kind)) {
            case Kind::mix: return item.num_reads ? reading : item.when_mask ? condition : 0;
            case Kind::diagonal: return item.num_reads ? table : phase;
            default: return permute;
        }
    }
};

}  // namespace

// Writes how many multiply-adds per amplitude of the whole state the sweeps of a plan (its `PlanSteps`) take longer.
QX_EXPORT(plan_interpreted, (qx::Int steps, const double* weights, double* out)) {
    const StepArrays& plan = reinterpret_cast<const PlanSteps*>(steps)->steps;
    const Extra extra{weights[0], weights[1], weights[2], weights[3], weights[4], weights[5]};
    *out = 0;
    for (const Step& step : plan.steps) {
        if (step.type != Step::sweep) continue;
        double work = 0;
        for (auto k = static_cast<std::size_t>(step.begin); k < static_cast<std::size_t>(step.end); ++k) {
            const RegisterBlock& block = plan.register_blocks[k];
            work += extra.register_block;
            for (auto at = static_cast<std::size_t>(block.begin); at < static_cast<std::size_t>(block.end); ++at)
                work += extra.of(plan.items[at]);
        }
        *out += std::ldexp(work, -count(static_cast<Mask>(step.fresh & ~step.tile)));
    }
    return 0;
}
