// The ways in which a plan is made: of several the one is kept whose steps take least time.
//
// Forecasts choose which ways are worth a plan. First the usual one: phases weigh what they take alone, and the state
// grows for a pass's arithmetic. Then, if a run takes long enough, ways in which phases weigh what they take in a table
// and the state grows for other amounts of arithmetic. A forecast sees sweeps, but neither phases nor blocks: forecasts
// within 2 % belong to plans that are 10 % apart. So the best few are made to the end and compared (decision 0036). A
// circuit full of CX is planned over subspaces before that (linear/schedule.hpp).
#pragma once

#include <memory>

#include "planner/growth.hpp"

namespace qx::plan {

// low: the bits that are the lowest in the beginning. floats: whether the lowest bits change. worth: see Growth.
struct Way {
    Mask low = 0;
    bool floats = false;
    double worth = 0;

    Way turned() const { return {low, !floats, worth}; }
};

// Finds the ways in which a plan should be made, by forecasts, one after another: first the usual one, then others.
class Ways {
  public:
    // lows: the choices of the lowest bits of a new state that may be tried, then those of fewer bits; none if its wires
    // have their places.
    Ways(const std::vector<Piece>& work, int num_bits, const Shape& shape, Mask fresh, const std::vector<Mask>& lows);

    // Makes some forecasts; returns false when the usual way is known, and when all are.
    bool advance();
    Way usual() const { return usual_; }
    // Whether there may be others.
    bool looks_on() const { return room_; }
    const std::vector<Way>& others() const { return found_; }

  private:
    struct Tried {
        double time;
        std::size_t number;
        Way way;
    };

    enum class State { first, lows, turn, usual, others, turned, done };

    void begin();
    void try_low();
    void turn();
    void list();
    void try_other();
    void try_turned();
    void finish();
    // The other ways to try, the most promising first.
    std::vector<Way> listed() const;
    void add(Way way);
    // The best of the ways that were tried, at most so many; the first of equals first.
    std::vector<Tried> best(std::size_t most) const;
    double time(Way way, double most);
    // How long a run takes, in the time as which trying a choice counts.
    double runs(double time) const;

    const std::vector<Piece>& work_;
    int num_bits_;
    const Shape& shape_;
    const Shape narrow_;  // with fewer lowest bits
    Mask fresh_;
    std::vector<Mask> lows_, narrow_lows_;
    bool may_float_;
    State state_ = State::first;
    // Forecasts with all lowest bits, and with fewer; where phases weigh what they take alone, and in tables.
    std::unique_ptr<Outlook> outlooks_[2][2];
    std::size_t next_ = 0, tries_ = 0;          // the number of the next choice, and how many are tried
    Way usual_, turned_;
    double least_ = 0, turned_time_ = 0;
    std::size_t more_ = 0, room_ = 0;  // how many forecasts take the time for other ways, and how many of these may be made
    std::vector<Way> others_;
    std::vector<Tried> tried_;
    std::vector<Way> found_;
};

}  // namespace qx::plan
