// The programs and the launches of a plan, as Python calls for them.

#include <memory>

#include "base/export.hpp"
#include "base/owned.hpp"
#include "planner/encode/launches/launches.hpp"

namespace {

using namespace qx::plan;
using qx::Owned;

template <class... Values>
qx::Int* written(qx::Int* out, const std::vector<Values>&... values) {
    ((*out++ = reinterpret_cast<qx::Int>(values.data()), *out++ = static_cast<qx::Int>(values.size())), ...);
    return out;
}

}  // namespace

// Returns the programs of a finished plan's sweeps for GPUs; writes the address and the length of each of their arrays.
// real_bytes: of the numbers that kernels compute with. depth: the columns of a matrix whose numbers a warp loads at once.
// tensor, bodies: as `ProgramWriter` takes them. room: words of 4 bytes behind the last program that may be read.
QX_EXPORT(plan_programs,
          (qx::Int steps, qx::Int real_bytes, qx::Int depth, qx::Int tensor, qx::Int bodies, qx::Int room, qx::Int* out)) {
    return Owned<SweepPrograms>::make([&] {
        const auto* plan = reinterpret_cast<const PlanSteps*>(steps);
        auto* made = new SweepPrograms;
        ProgramWriter writer(*plan->context, plan->steps, real_bytes, static_cast<int>(depth), tensor != 0, bodies != 0,
                             *made);
        for (const Step& step : plan->steps.steps)
            if (step.type == Step::sweep) writer.encode(step);
        made->words.resize(made->words.size() + static_cast<std::size_t>(room));
        written(out, made->words, made->shared, made->tables, made->ends);
        return made;
    });
}

QX_EXPORT(plan_free_programs, (qx::Int programs)) {
    Owned<SweepPrograms>::drop(programs);
    return 0;
}

// Returns a plan's launches; writes where their words, places and `sent` begin, how many are sent, three sizes, and the mask
// of the kernels that are launched, by their numbers. Returns 0 if they cannot be laid out. programs: 0 if no sweep is
// interpreted. kernels: the integers of a SweepKernel for each sweep, for which the planner has listed its numbers; null if
// all are interpreted. setting: the integers of LaunchSetting.
QX_EXPORT(plan_launches,
          (qx::Int planner, qx::Int programs, const SweepKernel* kernels, const LaunchSetting* setting, qx::Int* out)) {
    return Owned<LaunchArrays>::make([&]() -> LaunchArrays* {
        auto made = std::make_unique<LaunchArrays>();
        const Planner& plan = Owned<Planner>::at(planner);
        const SweepPrograms none, &found = programs ? Owned<SweepPrograms>::at(programs) : none;
        if (!LaunchWriter(plan, found, kernels, *setting, *made).write()) return nullptr;
        *out++ = reinterpret_cast<qx::Int>(made->words.data()), *out++ = reinterpret_cast<qx::Int>(made->places.data());
        *out++ = reinterpret_cast<qx::Int>(made->sent.data()), *out++ = static_cast<qx::Int>(made->sent.size());
        *out++ = made->room, *out++ = made->constants, *out++ = made->tables;
        Mask used = 0;
        for (const qx::Int at : made->kernels) used |= unit(static_cast<int>(made->words[static_cast<std::size_t>(at)]));
        *out++ = static_cast<qx::Int>(used);
        return made.release();
    });
}

// Puts what a device calls them into the words of launches: its kernels, by their numbers, and the address of what was sent.
QX_EXPORT(plan_link_launches, (qx::Int launches, const qx::Int* handles, qx::Int sent)) {
    LaunchArrays& made = Owned<LaunchArrays>::at(launches);
    for (const qx::Int at : made.kernels) {
        qx::Int& word = made.words[static_cast<std::size_t>(at)];
        word = handles[word];
    }
    for (const qx::Int at : made.addresses) made.words[static_cast<std::size_t>(at)] += sent;
    made.kernels.clear(), made.addresses.clear();
    return 0;
}

QX_EXPORT(plan_free_launches, (qx::Int launches)) {
    Owned<LaunchArrays>::drop(launches);
    return 0;
}
