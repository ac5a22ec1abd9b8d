// A plan for one device, from a circuit's instructions: the steps of planning in their order.
//
// absorb -> cancel -> fuse -> join runs -> rotate -> reorder -> (grow a tile -> grow its phases -> items)* -> number program

#include "plan.hpp"

#include <time.h>

#include <algorithm>
#include <limits>

#include "plan_rotate.hpp"
#include "plan_runs.hpp"
#include "plan_writer.hpp"

namespace qx::plan {

namespace {

constexpr int instructions_at_once = 1024;
constexpr double patience = 2.0;  // how much of the time of a run may be spent on trying orders
constexpr std::size_t looked_at = 4096;  // the pieces of work by which orders are compared: a state has grown by then

Int num_operands(const Circuit& circuit, const Book& book) {
    Int size = 2;
    const Int* mixes = circuit.num_mixes;
    for (Int k = 0; k < circuit.size; ++k) {
        Int count = 0;
        if (circuit.type[k] == Circuit::op) count = static_cast<Int>(book.patterns[circuit.pattern[k]].size());
        if (circuit.type[k] == Circuit::initialize) count = Int{1} << mixes[k];
        if (count) size = std::max(size, circuit.operand[k] + count);
    }
    return size;
}

Layout moved(const Layout& layout, const std::vector<int>& to) {
    Layout out;
    for (int bit : layout.address) out.address.push_back(to[bit]);
    each(layout.flip, [&](int bit) { out.flip |= unit(to[bit]); });
    return out;
}

Mask moved(Mask mask, const std::vector<int>& to) {
    Mask out = 0;
    each(mask, [&](int bit) { out |= unit(to[bit]); });
    return out;
}

}  // namespace

Planner::Planner(const Circuit& circuit, int num_bits, const Layout& start, const Shape& shape, Mask fresh,
                 std::vector<Mask> lows, std::unique_ptr<Book> given)
    : start(start), book(std::move(given)), num_bits_(num_bits), shape_(shape), fresh_(fresh),
      program_(num_operands(circuit, *book)), absorber_(circuit, start, shape_, *book),
      canceller_(new Canceller(*book, circuit.size)), fuser_(new Fuser(*book, program_, shape.item_work)), lows_(std::move(lows)) {}

Planner::State Planner::advance() {
    switch (state_) {
        case State::absorb: absorb(); break;
        case State::rotate: rotate_all(); break;
        case State::reorder: reorder(); break;
        case State::schedule: schedule(); break;
        case State::finish: finish(); break;
        case State::done:
        case State::stuck:
        case State::too_large: break;
    }
    Int most = std::numeric_limits<Index>::max();
    if (program_.size() > most || static_cast<Int>(book->places.size()) > most) state_ = State::too_large;
    return state_;
}

void Planner::absorb() {
    Piece piece;
    auto fuse = [&](const Piece& next) { fuser_->add(next); };
    for (int k = 0; k < instructions_at_once && !absorber_.done(); ++k)
        if (absorber_.next(piece)) canceller_->add(piece, fuse);
    if (!absorber_.done() || !canceller_->finish(instructions_at_once, fuse)) return;
    end = moved(absorber_.layout(), canceller_->to());
    canceller_.reset();
    work_ = fuser_->finish();
    if (num_bits_ >= shape_.start && shape_.dense >= Fuser::most_bits)
        work_ = join_runs(std::move(work_), *book, program_, shape_.item_work);
    fuser_.reset();
    state_ = State::rotate;
}

void Planner::rotate_all() {
    if (shape_.item_work <= most_item_work) work_ = rotate(work_, *book, program_);
    state_ = State::reorder;
}

// Tries the next choice of the lowest bits of a new state; see qsim_ex.planning.ordering.
void Planner::reorder() {
    Mask first = below(shape_.low);
    if (outlines_.empty()) {
        std::size_t seen = lows_.empty() ? 0 : std::min(work_.size(), looked_at);
        outlines_.assign(work_.begin(), work_.begin() + static_cast<std::ptrdiff_t>(seen));
        if (seen) {
            best_ = first;
            least_ = foresee(outlines_, num_bits_, shape_, first, std::numeric_limits<double>::infinity());
            double runs = least_ / static_cast<double>(unit(shape_.start)) / static_cast<double>(seen);
            tries_ = static_cast<std::size_t>(std::min(patience * runs, static_cast<double>(lows_.size())));
        }
    }
    if (tried_ < tries_) {
        Mask low = lows_[tried_++];
        double time = foresee(outlines_, num_bits_, shape_, low, least_);
        if (time < least_) best_ = low, least_ = time;
        return;
    }
    if (tries_ && best_ != first) {
        std::vector<int> to(static_cast<std::size_t>(num_bits_));
        int place = 0;
        each(best_, [&](int bit) { to[bit] = place++; });
        each(below(num_bits_) & ~best_, [&](int bit) { to[bit] = place++; });
        move(to);
    }
    outlines_.assign(work_.begin(), work_.end());
    scheduler_.reset(new Scheduler(work_, outlines_, num_bits_, shape_, fresh_, *book, program_, steps));
    state_ = State::schedule;
}

// Puts all work on other bits: bit b becomes bit to[b].
void Planner::move(const std::vector<int>& to) {
    reordered = true;
    start = moved(start, to), end = moved(end, to);
    for (Piece& piece : work_) {
        Mask* words = book->words.data() + piece.words;
        for (int k = 0; k < 2 * piece.num_mixed + piece.num_reads; ++k) words[k] = moved(words[k], to);
        piece.mixed.units = moved(piece.mixed.units, to);
        piece.touched = moved(piece.touched, to);
        piece.when = {moved(piece.when.mask, to), moved(piece.when.value, to)};
    }
}

void Planner::schedule() {
    if (!scheduler_->done()) {
        if (!scheduler_->advance()) state_ = State::stuck;
        return;
    }
    if (scheduler_->fresh()) scheduler_->clear(scheduler_->fresh());
    scheduler_.reset();
    std::vector<Piece>().swap(work_);
    std::vector<Outline>().swap(outlines_);
    state_ = State::finish;
}

void Planner::finish() {
    program_.finish(*book, numbers, steps.packed);
    program_ = NumberProgram(0);
    std::vector<Index>().swap(book->places);
    state_ = State::done;
}

}  // namespace qx::plan

// --- what Python calls; qsim_ex.planning.compiled says what the integers mean ------------------------------------------

namespace {

using namespace qx::plan;

qx::Int now() {  // in milliseconds
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

template <class Value>
const Value* address(qx::Int integer) {
    return reinterpret_cast<const Value*>(integer);
}

template <class Known>
void read(Known& out, qx::Int bytes, qx::Int ends, qx::Int size) {
    const char* begin = address<char>(bytes);
    qx::Int at = 0;
    for (qx::Int k = 0; k < size; ++k) {
        qx::Int end = address<qx::Int>(ends)[k];
        out.of({begin + at, static_cast<std::size_t>(end - at)});
        at = end;
    }
}

}  // namespace

// Returns a new planner. given: the integers, and the addresses of arrays, of `_begun` in qsim_ex.planning.compiled; the
// arrays of the circuit have to stay until the planner is done. rates: item_work, balance, block.
QX_EXPORT(plan_begin)(const qx::Int* given, const double* rates) {
    Circuit circuit{given[0],
                    address<qx::Int>(given[1]),
                    address<qx::Int>(given[2]),
                    address<qx::Int>(given[3]),
                    address<qx::Int>(given[4]),
                    address<qx::Int>(given[5]),
                    address<qx::Int>(given[6]),
                    address<qx::Int>(given[7]),
                    address<qx::Int>(given[8]),
                    address<qx::Int>(given[9]),
                    address<qx::Int>(given[10])};
    std::unique_ptr<Book> book(new Book);
    read(book->patterns, given[11], given[12], given[13]);
    read(book->labels, given[14], given[15], given[16]);
    const qx::Int* shape = given + 17;
    Shape fitted{static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2]),
                 static_cast<int>(shape[3]), static_cast<int>(shape[4]), static_cast<int>(shape[5]),
                 static_cast<int>(shape[6]), static_cast<int>(shape[7]), static_cast<int>(shape[8]),
                 shape[9] != 0,              rates[0],                   rates[1],
                 rates[2]};
    int num_bits = static_cast<int>(given[27]);
    Layout start;
    for (int wire = 0; wire < num_bits; ++wire) start.address.push_back(static_cast<int>(address<qx::Int>(given[28])[wire]));
    start.flip = static_cast<Mask>(given[29]);
    std::vector<Mask> lows;
    for (qx::Int k = 0; k < given[32]; ++k) lows.push_back(static_cast<Mask>(address<qx::Int>(given[31])[k]));
    auto* made = new Planner(circuit, num_bits, start, fitted, static_cast<Mask>(given[30]), std::move(lows), std::move(book));
    return reinterpret_cast<qx::Int>(made);
}

// Goes on for about so many milliseconds; returns 0 when the plan is done, 1 while it is not, -1 for a broken plan, -2 for
// one with too many numbers.
QX_EXPORT(plan_advance)(qx::Int planner, qx::Int milliseconds) {
    auto* made = reinterpret_cast<Planner*>(planner);
    qx::Int end = now() + milliseconds;
    for (;;) {
        Planner::State state = made->advance();
        if (state == Planner::State::done) return 0;
        if (state == Planner::State::stuck) return -1;
        if (state == Planner::State::too_large) return -2;
        if (now() >= end) return 1;
    }
}

// Writes the address and the length of each array of a finished plan; it keeps them until it is freed.
QX_EXPORT(plan_arrays)(qx::Int planner, qx::Int* out) {
    auto* made = reinterpret_cast<Planner*>(planner);
    auto write = [&](const auto& values) {
        *out++ = reinterpret_cast<qx::Int>(values.data());
        *out++ = static_cast<qx::Int>(values.size());
    };
    write(made->steps.steps), write(made->steps.phases), write(made->steps.items), write(made->steps.packed);
    write(made->book->words), write(made->book->values);
    write(made->book->patterns.all().bytes()), write(made->book->patterns.all().ends());
    write(made->book->labels.bytes()), write(made->book->labels.ends());
    write(made->numbers.program), write(made->numbers.places), write(made->numbers.incidence);
    write(made->start.address), write(made->end.address);
    *out++ = static_cast<qx::Int>(made->start.flip), *out++ = static_cast<qx::Int>(made->end.flip);
    *out++ = made->numbers.num_operands, *out++ = made->reordered;
    return 0;
}

// Returns the encoded sweeps of a finished plan, for a state of 2^num_bits amplitudes and vectors of 2^lane_bits real
// numbers; writes the address and the length of each of their arrays.
QX_EXPORT(plan_encode)(qx::Int planner, qx::Int num_bits, qx::Int lane_bits, qx::Int real_bytes, qx::Int* out) {
    auto* plan = reinterpret_cast<Planner*>(planner);
    auto* made = new EncodedSweeps;
    Writer writer(*plan->book, plan->steps, static_cast<int>(num_bits), static_cast<int>(lane_bits),
                  static_cast<int>(real_bytes), *made);
    for (const Step& step : plan->steps.steps)
        if (step.type == Step::sweep) writer.encode(step);
    auto write = [&](const auto& values) {
        *out++ = reinterpret_cast<qx::Int>(values.data());
        *out++ = static_cast<qx::Int>(values.size());
    };
    write(made->instructions), write(made->fills), write(made->codes), write(made->integers), write(made->geometry);
    write(made->ends);
    return reinterpret_cast<qx::Int>(made);
}

QX_EXPORT(plan_free_encoded)(qx::Int encoded) {
    delete reinterpret_cast<EncodedSweeps*>(encoded);
    return 0;
}

QX_EXPORT(plan_free)(qx::Int planner) {
    delete reinterpret_cast<Planner*>(planner);
    return 0;
}
