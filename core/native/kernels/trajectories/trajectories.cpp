// Trajectories of narrow states: all steps of a circuit for some shots, in one call.
//
// Shots with equal outcomes so far are a *group*, which has one state. A choice has a *window*, an interval of random
// numbers in which it is made without the state and comes out in its most likely way. Random numbers outside of their
// window are *events*. They are found first, for all choices and shots, so that a group runs from one event of its shots
// to the next without a look at random numbers. The shots of a group are in the order of their next events. At an event
// the shots that have it choose, and the group is divided by outcomes; the others wait until those parts are done.

#include "kernels/trajectories/trajectories.hpp"

#include <cmath>

#include "base/array.hpp"
#include "base/export.hpp"
#include "base/philox.hpp"
#include "base/pool.hpp"
#include "kernels/trajectories/chains.hpp"
#include "kernels/trajectories/choices.hpp"
#include "kernels/trajectories/events.hpp"
#include "kernels/trajectories/narrow_states.hpp"
#include "kernels/trajectories/passes.hpp"

namespace qx::trajectories {
namespace {

using narrow::Complexes;
using narrow::LANES;
using narrow::State;

// A group that waits: its shots in the order of all shots, its slot, its step, the outcome there, −1 for none yet, and
// the factor on the matrix of that outcome.
struct Group {
    Int begin, end, slot, step, outcome;
    double scale;
};

class Run {
  public:
    explicit Run(const Request& given);
    // Runs all shots; returns the number of groups at the end.
    Int operator()();

  private:
    struct Slot {
        State state;
        std::uint8_t* outcomes;
    };

    Int slot_size() const;
    Slot slot(Int number);
    void copy(Int from, Int to);
    void begin(const State& state, Int index) const;
    void make_blocks();
    // Runs a group until its end, or until a step at which it divides; its step says which. Returns where the shots
    // begin that did not choose there.
    Int walk(Group& group, const Slot& slot, Int limit, bool makes);
    bool choose(const Group& group, Int end, const Step& step, const Channel& channel, const Numbers& numbers);
    void apply(const Step& step, const Slot& slot, Int outcome, double scale);
    void apply_chain(Int number, Int end, const State& state);
    void divide(const Group& group, Int asked);
    void finish(const Group& group);
    Int value(const Int* columns, Int bits, const std::uint8_t* outcomes) const;
    bool holds(const Int* condition, const std::uint8_t* outcomes) const;

    const Request& given_;
    const Int size_, room_, last_;
    Array<Numbers> numbers_;
    Events events_;
    Chains chains_;
    narrow::Passes passes_;
    Array<Int> shots_, found_, aside_;
    Array<Int> group_of_, begins_;     // of each shot, and where each group's shots go
    Array<Int> parts_, next_;          // where the shots of each outcome begin, and where the next one goes
    Array<double> p_, scales_;         // of each matrix of a channel
    Array<std::int32_t> product_of_;   // for each step the number of the block that begins there, −1 without one
    Array<Complexes> products_;
    Array<double> slots_;
    List<Int> free_;
    List<Group> waiting_;
    Int groups_ = 0;
};

Array<Numbers> all_numbers(const Request& given) {
    Array<Numbers> found(given.num_channels);
    for (Int k = 0; k < given.num_channels; ++k) {
        const Channel& channel = given.channels[k];
        found[k] = {given.floats + channel.floats, channel.count, channel.size};
    }
    return found;
}

Run::Run(const Request& given)
    : given_(given), size_(Int{1} << given.num_wires), room_(size_ < LANES ? LANES : size_), last_(given.num_steps - 1),
      numbers_(all_numbers(given)), events_(given, numbers_), chains_(given), shots_(given.shots), found_(given.shots),
      aside_(given.shots), group_of_(given.shots), begins_(given.shots + 1), parts_(given.most + 1), next_(given.most + 1),
      p_(given.most), scales_(given.most), product_of_(given.num_steps, -1),
      products_(given.num_blocks * size_, Complexes{}), slots_((given.shots + 1) * slot_size()) {
    events_.order(shots_.begin());
    begins_[0] = 0;
}

// A slot is two planes, and the outcomes.
Int Run::slot_size() const { return 2 * room_ + (given_.columns + 63) / 64 * 8; }

Run::Slot Run::slot(Int number) {
    double* at = slots_.begin() + number * slot_size();
    return {{at, at + room_, size_}, reinterpret_cast<std::uint8_t*>(at + 2 * room_)};
}

void Run::copy(Int from, Int to) {
    const auto bytes = static_cast<std::size_t>(slot_size()) * sizeof(double);
    std::memcpy(slot(to).state.re, slot(from).state.re, bytes);
}

// Sets a state to a basis state.
void Run::begin(const State& state, Int index) const {
    for (Int k = 0; k < 2 * room_; ++k) state.re[k] = 0;
    state.re[index] = 1.0;
}

Int Run::value(const Int* columns, Int bits, const std::uint8_t* outcomes) const {
    Int found = 0;
    for (Int k = 0; k < bits; ++k)
        if (columns[k] >= 0) found |= static_cast<Int>(outcomes[columns[k]]) << k;
    return found;
}

// A condition: how many bits, the column of each, how many values, the values.
bool Run::holds(const Int* condition, const std::uint8_t* outcomes) const {
    const Int found = value(condition + 1, condition[0], outcomes);
    const Int* values = condition + 1 + condition[0];
    for (Int k = 1; k <= values[0]; ++k)
        if (values[k] == found) return true;
    return false;
}

// Makes the matrices of all blocks: a column is what comes of a basis state.
void Run::make_blocks() {
    for (Int block = 0; block < given_.num_blocks; ++block) {
        Complexes* m = products_.begin() + block * size_;
        for (Int column = 0; column < size_; ++column) {
            const Slot into = slot(0);
            Group group{0, 0, 0, given_.blocks[block], -1, 1.0};
            begin(into.state, column);
            walk(group, into, given_.blocks[block] + BLOCK, true);
            for (Int row = 0; row < size_; ++row) {
                m[row ^ column].re[row] = into.state.re[row];
                m[row ^ column].im[row] = into.state.im[row];
            }
        }
    }
    for (Int block = 0; block < given_.num_blocks; ++block)
        product_of_[given_.blocks[block]] = static_cast<std::int32_t>(block);
}

Int Run::operator()() {
    for (Int k = given_.shots; k > 0; --k) free_.push(k);
    make_blocks();
    begin(slot(0).state, 0);
    for (Int k = 0; k < given_.columns; ++k) slot(0).outcomes[k] = given_.defaults[k];
    waiting_.push({0, given_.shots, 0, 0, -1, 1.0});
    while (waiting_.size()) {
        Group group = waiting_.pop();
        const Int asked = walk(group, slot(group.slot), last_, false);
        if (group.step < last_) divide(group, asked);
        else finish(group);
    }
    for (Int shot = 0; shot < given_.shots; ++shot) given_.out_shots[begins_[group_of_[shot]]++] = shot;
    return groups_;
}

Int Run::walk(Group& group, const Slot& slot, Int limit, bool makes) {
    Int stop = -1, asked = group.end;
    Int begin = group.outcome < 0 ? group.step : group.step + 1;  // all before it is done, and nothing from it on
    const Int* shots = shots_.begin();
    for (;; ++group.step, group.outcome = -1) {
        const bool open = group.outcome < 0;  // else the outcome here was chosen before the group waited
        if (open) {
            group.scale = 1.0;
            if (stop < group.step) stop = makes ? last_ : events_.next(shots[group.begin]);
            const std::int32_t block = product_of_[group.step];
            if (block >= 0 && stop >= group.step + BLOCK) {
                narrow::whole(slot.state, products_.begin() + block * size_);
                group.step += BLOCK - 1;
                continue;
            }
            group.step = least(given_.next_work[group.step], stop);
            if (group.step >= limit) {
                passes_.finish(slot.state);
                return asked;
            }
            if (group.step != stop && chains_.has(group.step)) {
                const Int end = least(stop, chains_.divides(group.step));
                if (chains_.before(group.step) < begin) apply_chain(group.step, end, slot.state);
                continue;
            }
        }
        const Step& step = given_.steps[group.step];
        if (open && step.kind != GATE) {
            const Channel& channel =
                given_.channels[step.number +
                                (step.kind == READING ? value(given_.ints + step.at, step.wires, slot.outcomes) : 0)];
            const Numbers& numbers = numbers_[&channel - given_.channels];
            if (step.kind == CHOICE && group.step != stop && channel.window) {
                group.outcome = channel.ordinary;
                group.scale = numbers.scales()[group.outcome];
            } else {
                passes_.finish(slot.state);
                if (step.kind == CHOICE && !channel.mixed)
                    probabilities(slot.state, given_.ints + step.at, step.wires, channel, numbers, p_.begin());
                asked = group.end;
                begin = group.step + 1;
                if (group.step == stop)  // only shots with an event choose here
                    for (asked = group.begin; asked < group.end && events_.next(shots[asked]) == group.step; ++asked)
                        events_.pass(shots[asked]);
                bool divides = choose(group, asked, step, channel, numbers);
                group.outcome = found_[group.begin];
                if (asked < group.end) {
                    divides |= group.outcome != channel.ordinary;
                    group.outcome = channel.ordinary;
                }
                group.scale = scales_[group.outcome];
                if (divides) return asked;
                if (group.step == stop) {
                    events_.sort(shots_.begin(), group.begin, group.end);
                    stop = -1;
                }
            }
        }
        apply(step, slot, group.outcome, group.scale);
    }
}

// Writes what shots choose by their random numbers, and the factor on each matrix; returns whether they differ.
bool Run::choose(const Group& group, Int end, const Step& step, const Channel& channel, const Numbers& numbers) {
    bool differ = false;
    const std::uint64_t* key = given_.keys + 2 * step.outcome;
    for (Int k = group.begin; k < end; ++k) {
        const Int shot = given_.first + shots_[k];
        const Four four = philox(key[0], key[1], static_cast<std::uint64_t>(shot / 4));
        Int& one = found_[k];
        one = chosen(channel, numbers, unit(four.x[shot % 4]), p_.begin());
        differ |= one != found_[group.begin];
    }
    for (Int k = 0; k < channel.count; ++k) scales_[k] = channel.mixed ? numbers.scales()[k] : std::pow(p_[k], -0.5);
    return differ;
}

// Applies the operation of a step, whose outcome is known.
void Run::apply(const Step& step, const Slot& slot, Int outcome, double scale) {
    const Int* bits = given_.ints + step.at;
    Int entries = step.number;
    bool factors = step.wires == 1;
    if (step.kind == READING) {
        for (Int k = 0; k < step.wires; ++k)
            slot.outcomes[bits[step.wires + k]] = static_cast<std::uint8_t>(outcome >> k & 1);
        return;
    }
    if (step.kind == CHOICE) {
        const Channel& channel = given_.channels[step.number];
        slot.outcomes[step.outcome] = static_cast<std::uint8_t>(outcome);
        entries = channel.entries + outcome * channel.width;
        factors |= channel.width < channel.size * channel.size;
    } else if (step.outcome >= 0 && !holds(given_.ints + step.outcome, slot.outcomes)) {
        return;
    }
    const double* m = given_.m + 2 * entries;
    const narrow::Where where{step.mask, step.value};
    if (factors && !step.reads) {
        for (Int k = 0; k < step.wires; ++k, m += 8, scale = 1.0) {
            narrow::Pass pass{bits[k], where, {}, nullptr, 0, {}};
            for (Int j = 0; j < 8; ++j) pass.m[j] = m[j] * scale;
            passes_.add(slot.state, pass);
        }
        return;
    }
    if (!step.wires && step.reads <= narrow::MOST_READS) {
        passes_.add(slot.state, {0, where, {}, bits, step.reads, {m, scale}});
        return;
    }
    passes_.finish(slot.state);
    if (step.wires == 2 && !step.reads) {
        narrow::quadruples(slot.state, bits[0], bits[1], where, {m, scale});
    } else {
        narrow::dense(slot.state, bits, step.wires, bits + step.wires, step.reads, where, {m, scale});
    }
}

// Applies a step and those that follow it in its chain up to `end`, in which each choice comes out as it does mostly.
void Run::apply_chain(Int number, Int end, const State& state) {
    narrow::Pass pass{only_bit(given_, given_.steps[number]), {0, 0}, {1, 0, 0, 0, 0, 0, 1, 0}, nullptr, 0, {}};
    for (Int k = number; k >= 0 && k < end; k = chains_.behind(k)) {
        double left[8], up[8];
        only_matrix(given_, given_.steps[k], left);
        std::memcpy(up, pass.m, sizeof up);
        for (Int row = 0; row < 8; row += 4)
            for (Int column = 0; column < 4; column += 2) {
                const double *a = left + row, *b = up + column;
                pass.m[row + column] = a[0] * b[0] - a[1] * b[1] + (a[2] * b[4] - a[3] * b[5]);
                pass.m[row + column + 1] = a[0] * b[1] + a[1] * b[0] + (a[2] * b[5] + a[3] * b[4]);
            }
    }
    passes_.add(state, pass);
}

// Divides a group by what its shots up to `asked` chose; the part with the group's own outcome keeps the slot, and
// waits below the others.
void Run::divide(const Group& group, Int asked) {
    const Int most = given_.most, keeps = group.outcome;
    Int* shots = shots_.begin();
    for (Int& part : parts_) part = 0;
    for (Int k = group.begin; k < asked; ++k) {
        const Int one = found_[k];
        if (one != keeps) ++parts_[one + 1];
    }
    parts_[0] = group.begin;
    for (Int one = 0; one < most; ++one) parts_[one + 1] += parts_[one];
    Int kept = parts_[most];
    for (Int one = 0; one <= most; ++one) next_[one] = parts_[one];
    for (Int k = group.begin; k < asked; ++k) {
        const Int one = found_[k];
        aside_[one == keeps ? kept++ : next_[one]++] = shots[k];
    }
    for (Int k = group.begin; k < asked; ++k) shots[k] = aside_[k];
    const Int others = parts_[most];
    const Step& step = given_.steps[group.step];
    const bool sorts = step.kind == CHOICE && given_.channels[step.number].window;
    if (sorts && others < asked) events_.sort(shots, others, group.end);  // these stay with those that did not choose
    waiting_.push({others, group.end, group.slot, group.step, keeps, scales_[keeps]});
    for (Int one = 0; one < most; ++one) {
        const Int begin = parts_[one], end = parts_[one + 1];
        if (begin == end) continue;
        const Int to = free_.pop();
        copy(group.slot, to);
        if (sorts) events_.sort(shots, begin, end);
        waiting_.push({begin, end, to, group.step, one, scales_[one]});
    }
}

// Writes the state and the outcomes of a group that is done, and remembers its shots.
void Run::finish(const Group& group) {
    const Slot from = slot(group.slot);
    auto* singles = static_cast<float*>(given_.out) + 2 * groups_ * size_;
    auto* doubles = static_cast<double*>(given_.out) + 2 * groups_ * size_;
    for (Int k = 0; k < size_; ++k) {
        if (given_.single) {
            singles[2 * k] = static_cast<float>(from.state.re[k]);
            singles[2 * k + 1] = static_cast<float>(from.state.im[k]);
        } else {
            doubles[2 * k] = from.state.re[k];
            doubles[2 * k + 1] = from.state.im[k];
        }
    }
    for (Int k = 0; k < given_.columns; ++k) given_.out_outcomes[groups_ * given_.columns + k] = from.outcomes[k];
    for (Int k = group.begin; k < group.end; ++k) group_of_[shots_[k]] = groups_;
    given_.out_counts[groups_] = group.end - group.begin;
    begins_[groups_ + 1] = begins_[groups_] + given_.out_counts[groups_];
    ++groups_;
    free_.push(group.slot);
}

}  // namespace
}  // namespace qx::trajectories

// Runs requests from number `first` on, on up to `threads` threads, for about so many microseconds; returns the number
// of the request to go on with. groups: becomes the number of groups of each request at the end.
QX_EXPORT_SET(trajectories, (const qx::trajectories::Request* requests, qx::Int count, qx::Int* groups, qx::Int first,
                             qx::Int threads, qx::Int slice)) {
    return qx::share_allocating({first, count, threads, slice},
                                [=](qx::Int k) { groups[k] = qx::trajectories::Run(requests[k])(); });
}
