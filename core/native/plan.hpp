// A plan for one device, from a circuit's instructions: the steps of planning in their order.
#pragma once

#include <memory>

#include "plan_absorb.hpp"
#include "plan_cancel.hpp"
#include "plan_linear.hpp"
#include "plan_runs.hpp"
#include "plan_sweep.hpp"

namespace qx::plan {

class Planner {
  public:
    // lows: the choices of the lowest bits of a new state that may be tried; none if its wires have their places.
    Planner(std::unique_ptr<Reader> reader, int num_bits, const Layout& start, const Shape& shape, Mask fresh,
            std::vector<Mask> lows, const Worth& worth);

    enum class State { read, absorb, join, rotate, reorder, schedule, linear, done, stuck, too_large };

    // Does a bounded amount of work; the last state is `done`, or `stuck` if a sweep would run no work, or `too_large` if
    // there are more numbers than an `Index` counts. In state `read` it waits for `read`.
    State advance();
    // Reads the next part of the circuit, with the interpreter's lock held; returns false after a Python exception.
    bool read();

    // Whether the circuit was read in parts.
    bool is_large() const { return reader_->parts() > 1; }

    Layout start, end;
    bool reordered = false, floats = false, linear = false;
    StepArrays steps;
    std::unique_ptr<Book> book;

    const NumberProgram& program() const { return program_; }
    // The number program with all its places, made when it is asked for first.
    const NumberArrays& listed();

  private:
    void absorb();
    void join();
    void rotate_all();
    void reorder();
    void look_out();
    bool may_float() const;
    double tries(double time) const;
    void settle();
    void move(const std::vector<int>& to);
    void schedule();
    void try_linear();

    int num_bits_;
    Shape shape_;
    Mask fresh_;
    State state_ = State::read;
    std::unique_ptr<Reader> reader_;
    Circuit circuit_;  // the part that was read last
    NumberProgram program_;
    std::unique_ptr<Canceller> canceller_;
    std::unique_ptr<Absorber> absorber_;
    std::unique_ptr<Fuser> fuser_;
    std::unique_ptr<RunJoiner> joiner_;
    std::vector<Piece> work_;
    std::unique_ptr<Outlook> outlook_;
    std::vector<Glance> outlines_;
    std::vector<Mask> lows_;
    std::size_t tried_ = 0, tries_ = 0;
    Mask best_ = 0;
    double least_ = 0;
    std::unique_ptr<Floating> floating_;  // before the scheduler, which uses it
    std::unique_ptr<Scheduler> scheduler_;
    Worth worth_;
    std::unique_ptr<LinearPlanner> linear_;
    Layout absorbed_;  // where a plan over subspaces ends but for what its sweeps do
    std::unique_ptr<NumberArrays> listed_;
};

}  // namespace qx::plan
