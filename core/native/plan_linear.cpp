// Plans over subspaces, for a new state and for one that is there.

#include "plan_linear.hpp"

#include <cmath>

#include "plan_linear_forward.hpp"

namespace qx::plan {

namespace {

constexpr std::size_t most_pieces = 4096;  // which of them commute is found for all pairs
constexpr double least = 1;   // passes over a full state: no plan takes less
constexpr double crowd = 600;  // so many pieces of work take the planner twice as long, each of them, as few do
constexpr double half = 0.5;  // of the time that is saved may be spent on planning

}  // namespace

bool is_worth_trying(
    const std::vector<Piece>& work, int num_bits, const Shape& shape, const Promise& promise, const Book& book) {
    if (2 * shape.low > shape.tile || shape.tile >= num_bits) return false;
    std::size_t added = 0, diagonals = 0;
    for (const Piece& piece : work) {
        if (!piece.in_a_sweep()) return false;
        diagonals += piece.kind == Kind::diagonal;
        added += changes_frame(piece, book);
    }
    std::size_t others = work.size() - diagonals - added;
    return others + diagonals <= most_pieces && static_cast<double>(added) >= promise.rich * static_cast<double>(others);
}

LinearPlanner::LinearPlanner(const std::vector<Piece>& work, int num_bits, const Shape& shape, const Promise& promise,
                             Book& book, const NumberProgram& program, bool grows)
    : program(program), num_bits_(num_bits), grows_(grows), shape_(shape), promise_(promise), book_(book),
      work_(work, num_bits, book, grows) {
    if (!grows && !shape.floats) work_.turn_back(book);
}

bool LinearPlanner::pays(const StepArrays& on_bits, const Shape& shape, Book& book) {
    on_bits_ = time_of(on_bits, num_bits_, shape, book);
    double diagonals = 0, others = 0;
    for (std::size_t k = 0; k < work_.size(); ++k) (work_[k].piece.kind == Kind::diagonal ? diagonals : others) += 1;
    double saved = std::max(0.0, on_bits_ - least) * std::ldexp(1.0, num_bits_ - shape_.start);
    double pieces = others + diagonals / 10;
    return work_.fits() && promise_.piece * pieces * (1 + pieces / crowd) <= half * saved;
}

bool LinearPlanner::advance() {
    if (!growth_) {
        growth_.reset(new GrowingSpace(work_, shape_, grows_));
    } else if (!growth_->done()) {
        return growth_->advance();
    } else if (!sweeps_) {
        place();
    } else if (written_ < visits_.size()) {
        bool fits = sweeps_->write(visits_[written_], around_[written_]);
        ++written_;
        return fits;
    } else {
        finish();
        return false;
    }
    return true;
}

// Finds where the state lies around each sweep.
void LinearPlanner::place() {
    at.assign(static_cast<std::size_t>(num_bits_), -1);
    if (grows_) place_new();
    else place_there();
    sweeps_.reset(new LinearSweeps(work_, shape_, book_, program, steps));
}

// A new state is in order in the end, but for the bits that have to be lowest.
void LinearPlanner::place_new() {
    int next = 0;
    for (int bit : growth_->lowest) at[qx::plan::at(bit)] = next++;
    for (int& place : at)
        if (place < 0) place = next++;
    Map columns, end;
    for (int place : at) columns.push_back(unit(place));
    for (Mask vector : inverse(work_.frame.directions)) end.push_back(image(columns, vector));
    visits_ = std::move(growth_->visits);
    around_ = placed(visits_, end, zeros(), shape_.low);
}

void LinearPlanner::place_there() {
    Walk walk = walked(growth_->visits, work_.frame.directions, growth_->lowest, shape_.tile, !shape_.floats);
    for (std::size_t place = 0; place < walk.bits.size(); ++place)
        at[qx::plan::at(walk.bits[place])] = static_cast<int>(place);
    for (std::size_t k = 0; k < walk.visits.size(); ++k)
        around_.push_back({inverse(walk.layouts[k]), inverse(walk.layouts[k + 1]), 0});
    visits_ = std::move(walk.visits);
}

// Returns the index bits whose zeros no sweep has written in the end.
Mask LinearPlanner::zeros() const {
    Mask out = 0;
    for (int wire : growth_->left) out |= unit(at[qx::plan::at(wire)]);
    return out;
}

void LinearPlanner::finish() {
    if (Mask left = zeros()) {
        Step step{};
        step.type = Step::zero_fill, step.fresh = static_cast<Int>(left);
        step.packed = static_cast<Int>(steps.packed.size());
        steps.steps.push_back(step);
    }
    better_ = time_of(steps, num_bits_, shape_, book_) < promise_.gain * on_bits_;
}

}  // namespace qx::plan
