// The cost of stages between memories.

#include "planner/stages/stage_cost.hpp"

#include <algorithm>
#include <cmath>

#include "planner/tiles/step_time.hpp"
#include "planner/tiles/unmixed.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

double power(int exponent) { return std::ldexp(1.0, exponent); }

struct StepCost {
    double bytes = 0, fma = 0, exchanged = 0;

    double seconds(const Rates& rates) const {
        double memory = bytes / rates.memory, work = (fma + exchanged) / rates.fma;
        return std::max(memory, work) + rates.seen * std::min(memory, work);
    }
};

StepCost step_cost(const Step& step, const StepArrays& steps, PlanContext& context, int num_bits, const Shape& shape) {
    double amplitudes = power(num_bits);
    Mask fresh = static_cast<Mask>(step.fresh);
    if (step.type == Step::sweep) {
        const SweepWork found = sweep_work(step, steps, context, shape);
        double before = power(num_bits - count(fresh)),
               after = power(num_bits - count(fresh & ~static_cast<Mask>(step.tile)));
        double computed = after * power(-count_unmixed(step, steps, context, shape));
        return {(before + after) * single, found.arithmetic * computed, (found.counted - found.arithmetic) * computed};
    }
    if (step.type == Step::zero_fill) return {(amplitudes - power(num_bits - count(fresh))) * single};
    double passes = 2.0 * amplitudes * single;
    if (step.type != Step::dense_matrix) return {passes};
    double share = power(-count(static_cast<Mask>(step.when_mask)));
    return {passes * share, 4.0 * power(static_cast<int>(step.num_bits)) * amplitudes * share};
}

// Returns the positions that are still fresh after some steps.
Mask fresh_after(Mask fresh, const StepArrays& steps, std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
        const Step& step = steps.steps[k];
        if (step.type == Step::sweep) fresh &= ~static_cast<Mask>(step.tile);
        else if (step.type == Step::zero_fill) fresh &= ~static_cast<Mask>(step.fresh);
    }
    return fresh;
}

// --- exchanges -----------------------------------------------------------------------------------------------------------

using Counts = std::vector<int>;

// For each layer the mask of the device bits of farther layers; one layer where all devices are as far.
std::vector<Mask> farther(const Levels& levels) {
    std::vector<Mask> out;
    int first = levels.local;
    for (const Layer& layer : levels.layers) {
        first += layer.bits;
        out.push_back(below(levels.local + levels.peers) & ~below(first));
    }
    if (out.empty()) out.push_back(0);
    return out;
}

// For each layer with how many others the busiest device exchanges amplitudes: its partners differ from it in any of the
// `free` bits.
Counts partners(Mask free, Mask held, const std::vector<Mask>& farther) {
    Mask only = held & ~free;
    int before = only ? 0 : 1;  // it is no partner of its own
    Counts out;
    for (Mask beyond : farther) {
        int within = std::max(only & beyond ? 0 : 1 << count(free & ~beyond), before);
        out.push_back(within - before);
        before = within;
    }
    return out;
}

double sum(const Counts& counts) {
    int out = 0;
    for (int each : counts) out += each;
    return out;
}

struct Exchanged {
    double sent, moving;
};

// The bytes and seconds of an exchange; `fresh` is the mask after it, when each pair has changed places.
Exchanged exchange(const Pairs& swaps, Mask fresh, const Levels& levels, const Rates& rates, double windows) {
    Mask ours = 0, goes = 0, came = 0;
    for (auto [local, device] : swaps) {
        ours |= unit(local);
        if (!(fresh >> device & 1)) goes |= unit(device);
        if (!(fresh >> local & 1)) came |= unit(device);
    }
    Mask sent_along = below(static_cast<int>(thresholds.spared_from.at_most(levels.slice)));  // whether fresh or not
    double piece = single * power(count(below(levels.local) & ~ours & ~(fresh & ~sent_along)));
    std::vector<Mask> beyond = farther(levels);
    Counts sends = partners(goes, came, beyond), receives = partners(came, goes, beyond);
    double sent = piece * std::max(sum(sends), sum(receives));
    double time = levels.mesh ? piece * static_cast<double>(below(levels.peers)) / rates.peer : sent / rates.peer;
    if (!levels.layers.empty()) {
        auto busy = [&](const Counts& counts) {
            double out = 0;
            for (std::size_t k = 0; k < counts.size(); ++k) out += counts[k] / levels.layers[k].rate;
            return out;
        };
        const Counts& busiest = busy(receives) > busy(sends) ? receives : sends;
        time = 0;
        for (std::size_t k = 0; k < busiest.size(); ++k) time += busiest[k] * piece / levels.layers[k].rate;
    }
    return {windows * sent, windows * (time + rates.exchange)};
}

// The seconds of an exchange between the host memories of ranks, before a pass.
double between_hosts(const StageRow& stage, int num_bits, const Levels& levels, const Rates& rates) {
    Mask homes = 0;
    for (std::size_t position = 0; position < stage.motion.bits.size(); ++position)
        if (stage.fresh >> position & 1) homes |= unit(stage.motion.bits[position]);
    Levels hosts{num_bits - levels.ranks, levels.ranks, levels.slice, 0, false, {}};
    return exchange(stage.motion.swaps, homes, hosts, rates, 1).sent / rates.homes + rates.exchange;
}

// --- stages --------------------------------------------------------------------------------------------------------------

int there(Mask positions, Mask fresh) { return count(positions & ~fresh); }

// Whether all devices make the beginning of a new state alike, and then divide it without an exchange.
bool begins_alike(const std::vector<StageRow>& stages, const StepArrays& steps, int num_bits, const Levels& levels) {
    if (stages.size() < 2 || !levels.peers || levels.local + levels.peers < num_bits) return false;
    if (stages[0].motion.kind != Motion::none || stages[0].fresh != below(num_bits)) return false;
    if (stages[1].motion.kind != Motion::exchange) return false;
    return num_bits - count(fresh_after(stages[0].fresh, steps, 0, stages[0].end)) <= thresholds.alike_bits;
}

}  // namespace

double LeastWork::upto(const StepArrays& steps, PlanContext& context, Mask fresh) {
    const int near = levels_.local + levels_.peers, parts = num_bits_ - levels_.ranks;
    double windows = power(there(below(parts) & ~below(near), fresh));
    for (; timed_ < steps.steps.size(); ++timed_)
        time_ += windows * step_cost(steps.steps[timed_], steps, context, levels_.local, shape_).seconds(rates_);
    return time_;
}

std::vector<StageCost> stage_costs(const std::vector<StageRow>& stages, const StepArrays& steps, PlanContext& context,
                                   int num_bits, const Levels& levels, const Shape& shape, const Rates& rates) {
    const int near = levels.local + levels.peers, parts = num_bits - levels.ranks;
    const Mask device_bits = below(near) & ~below(levels.local), rank_bits = below(num_bits) & ~below(parts);
    std::vector<StageCost> out;
    for (std::size_t k = 0; k < stages.size(); ++k) {
        const StageRow& stage = stages[k];
        std::size_t begin = k ? stages[k - 1].end : 0;
        double windows = power(there(below(parts) & ~below(near), stage.fresh)),
               ranks = power(there(rank_bits, stage.fresh));
        double each_rank = power(there(device_bits, stage.fresh)), devices = ranks * each_rank;
        StageCost cost{windows, devices};
        double work = 0;
        for (std::size_t step = begin; step < stage.end; ++step) {
            StepCost own = step_cost(steps.steps[step], steps, context, levels.local, shape);
            cost.memory += own.bytes, cost.fma += own.fma;
            work += own.seconds(rates) + each_rank * rates.launch;
        }
        cost.memory *= windows * devices, cost.fma *= windows * devices, cost.work = windows * work;
        if (stage.motion.kind == Motion::exchange) {
            Exchanged found = exchange(stage.motion.swaps, stage.fresh, levels, rates, windows);
            cost.sent = found.sent, cost.moving = found.moving;
        } else if (stage.motion.kind == Motion::migration) {
            std::size_t last = k + 1;
            while (last < stages.size() && stages[last].motion.kind != Motion::migration) ++last;
            Mask fresh =
                fresh_after(stages[last - 1].fresh, steps, last > 1 ? stages[last - 2].end : 0, stages[last - 1].end);
            double come = single * power(num_bits - count(stage.fresh)), go = single * power(num_bits - count(fresh));
            double come_each = come / devices, go_each = go / power(there(device_bits | rank_bits, fresh));
            double on_host = (come + go) / ranks / rates.host_all;  // each rank has a host of its own
            double both = std::max({come_each / rates.host, go_each / rates.host, (come_each + go_each) / rates.host_both});
            both = std::max(both, on_host);
            cost.ends = std::max((come_each + go_each) / rates.host, on_host) / windows;
            cost.copying = std::max(both, cost.ends);
            if (!stage.motion.swaps.empty()) cost.moving = between_hosts(stage, num_bits, levels, rates);
        }
        out.push_back(cost);
    }
    if (begins_alike(stages, steps, num_bits, levels)) {
        double all = power(levels.peers), waiting = (all - 1) * rates.launch;
        out[0].devices = all, out[0].memory *= all, out[0].fma *= all;
        out[0].work += static_cast<double>(stages[0].end) * waiting;
        out[1].sent = 0, out[1].moving = rates.launch + waiting;
    }
    return out;
}

double seconds(const std::vector<StageRow>& stages, const std::vector<StageCost>& costs) {
    double total = 0;
    for (std::size_t first = 0; first < stages.size();) {
        double work = 0;
        std::size_t last = first;
        do work += costs[last].work + costs[last].moving;
        while (++last < stages.size() && stages[last].motion.kind != Motion::migration);
        total += std::max(work, costs[first].copying - costs[first].ends) + costs[first].ends;
        first = last;
    }
    return total;
}

}  // namespace qx::plan
