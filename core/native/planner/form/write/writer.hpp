// A form written out as gates: rotations in a Clifford frame that changes, and at the end what is left of C.
//
// A rotation about a diagonal string is a phase of a parity. Another one is written as it stands if it flips one wire or
// two, or between CX that let it flip one; or the frame changes, by H and CX, so that more strings are diagonal or flip
// fewer wires. How much of that is best depends on the circuit and on the machine, so there are a few manners, and plans are
// compared.
//
// Quarter turns, which a form moves into C, are left where they came from if later strings are then on fewer wires: RZZ by
// 1.2 is one by -0.37 and a Clifford gate that spreads over all strings behind it.
#pragma once

#include "planner/form/clusters/clusters.hpp"
#include "planner/form/form.hpp"
#include "planner/form/write/cx_letters.hpp"
#include "planner/form/write/flips.hpp"
#include "planner/form/write/grouping.hpp"

namespace qx::form {

// A gate that is written. cx: X on the wires of `mask` under the control of `wire`; cz, and swap of two wires, likewise;
// h, s, sdg, x, z: on each wire of `mask`. rotation: exp(-i angle/2 P) of the string with X on the wires of `mask` and Z on
// those of `wire`, a mask, too; of its angle `quarters` quarter turns belong to the Clifford operator. controlled: a
// rotation where all of some conditions hold, with quarter turns of its own. flip: X of the wire of `mask` where they hold.
// matrix: on the wires of `mask`, where they hold, one for each value of the wires of `wire`, a mask, which are read; phase:
// where these have the values of `wire`. The entries of both are the next ones of `Writer::entries`.
struct Gate {
    enum Kind : Int { h, s, sdg, x, z, cx, cz, swap, rotation, controlled, flip, matrix, phase };
    Kind kind;
    Int wire;
    Mask mask;
    Angle angle{};
    int quarters = 0;
    Index conditions = 0, num_conditions = 0, turns = 0, num_turns = 0;  // of `Writer`
};

// That the parity of some wires has a value.
struct Condition {
    Mask parity;
    bool value;
};

struct QuarterTurns {
    Pauli about;
    int quarters;
};

// Replaces P by G P G†, for a gate that is no rotation.
void pass(const Gate& gate, SignedPauli& string);

// Returns gates CX, CZ, SWAP, S, H, X and Z that make up a Clifford operator, but for a phase, with H on as few wires as
// there can be. x, z: C† X C and C† Z C for each wire.
std::vector<Gate> clifford_gates(std::vector<SignedPauli> x, std::vector<SignedPauli> z);
// Returns Clifford gates without what acts on wires that are 0, as long as these stay 0 or become 1, but for a phase: of one
// that is 1 at the end X is left.
std::vector<Gate> on_zeros(const std::vector<Gate>& gates, Mask zeros);

// back: what takes a string to one wire is undone behind it. local: the same, but H stay on a wire where the next strings
//   are then diagonal or flip fewer wires. moves: the same with CX. grown: of |0…0⟩ alone, as the state grows; what final
//   wires are read as is diagonal as soon as it can be. between: not the form, but what was read, whose gates on several
//   wires stay. clusters: what was read, with gates on the same few wires as one, where that is much of it, or less work
//   than what stands between gates.
enum class Manner : Int { local, moves, grown, back, between, clusters };

class Writer {
  public:
    // A form without blocks, which stays where it is, of which there may be no more than what was read, for clusters.
    // microseconds: how long a run of the circuit takes; where the frame changes so often that there is little of that for
    // each change, it gives up. cx_ratio: that of shapes, from which on plans in a CNOT frame are tried. between: how much
    // work what stands between gates is, below 0 if nobody knows that.
    Writer(const Form& form, Int microseconds, Manner manner, Int within, double cx_ratio, double between);

    enum class State { busy, done, given_up };

    // Does a bounded amount of work.
    State advance();

    // What is there when it is done: gates, of which those from `last` on are the operator C at the end, and a phase.
    std::vector<Gate> gates;
    std::size_t last = 0;
    Angle phase;
    std::vector<Condition> conditions;
    std::vector<Complex> entries;  // of all matrices
    // Calls a function with each phase of an angle that varies, and its multiple.
    template <class Each>
    void multiples(const Angle& of, const Each& function) const {
        sums_.each(of, function);
    }

  private:
    // Of a wire: what X, Z and Y are now, the frame's number, and the number of its next item.
    struct WireFrame {
        SignedPauli x, z, y;
        std::size_t at = 0, next = 0;
    };

    std::size_t looked_at() const;
    bool is_free(std::size_t place);
    void run();
    void write(const Gate& gate);
    void pass_all(const Gate& gate);
    void rotate(const Waiting& rotation);
    int act(const Gate& gate, StabilizerState& on) const;
    void finish();
    // quarters.cpp
    void leave_quarters();
    void list_strings();
    bool are_turned(std::size_t number);
    int gain(const Pauli& about, const Pauli& other) const;
    void leave(std::size_t number, Mask part);
    void sort();
    // conditions.cpp
    bool is_ready(const Waiting& rotation) const;
    void rotate_under_controls(const Waiting& rotation);
    void make_ready(Waiting rotation);
    // locally.cpp
    void there_and_back();
    std::size_t cheapest();
    bool stay();
    void weigh();
    double flips(Mask h, Mask y, double most) const;
    bool move(double least);
    // growing.cpp
    void grow(std::size_t number);
    Pauli next_final() const;
    void read_final(Pauli string, int wire);
    // between.cpp
    bool between_gates();
    void begin_between();
    void choose_frames(int wire);
    void change_frame(const Gate& gate, bool written);
    SignedPauli in_frames(const Pauli& of) const;
    void write_item(const WireItem& item);
    void write_reflection(SignedPauli a, SignedPauli b);
    void undo(const std::vector<Gate>& around);
    // matrices.cpp
    State clusters();
    void write_matrix(Mask mixes, const Complex* of);
    void write_block(Mask wires, const std::vector<Complex>& of);
    void write_phase(Mask wires, Mask values, Complex by);
    void put_under(Mask wires, Mask values);
    void write_turn(int wire, const Matrix2& turn);
    void write_turn_of_zero(int wire, const Matrix2& turn);
    bool mostly_adds() const;
    void write_pieces(const Pieces& found, const std::vector<Target>& chosen);
    void write_piece(const Piece& piece, const Target& target, const std::vector<Matrix2>& left);

    const Form& form_;
    Sums sums_;
    std::unique_ptr<Clusters> clusters_;
    std::unique_ptr<Writer> beside_;  // of what stands between gates, with which few clusters are compared
    std::unique_ptr<Wires> wires_, usual_wires_;  // usual: what was read first, until it is known whether reflections are CX
    double usual_reflections_ = 0;  // per turn, of what was read first
    bool as_cx_ = false;
    double cx_ratio_, between_;
    std::vector<std::vector<unsigned char>> frames_of_;  // for each wire, of each of its items
    std::vector<WireFrame> frame_of_;
    Letters written_as_;
    std::size_t next_item_ = 0;
    int chosen_ = 0;  // how often the frames of a wire have been chosen
    std::vector<Waiting> waiting_;  // in the frame of now, from `begin_` on
    Controls controls_;
    std::vector<QuarterTurns> turns_;
    std::unique_ptr<Grouping> grouping_;
    int groupings_ = 0;  // that are done: of diagonal controls, then of others
    std::size_t begin_ = 0;
    // Of each rotation, by its number: that of the first which does not commute with it and was before it, its own if there
    // is none, or that nobody knows; and whether it waits.
    std::vector<Index> in_the_way_;
    std::vector<char> waits_;
    struct Weighed {
        Pauli of;
        double weight;
    };
    std::vector<Weighed> weighed_;  // the strings that wait next, and how much each counts
    std::size_t left_to_ = 0;  // the first rotation whose quarter turns have not been looked at
    std::vector<Pauli> strings_;  // of all that waits, while quarter turns are left, and where those of each begin
    std::vector<std::size_t> strings_begin_;
    // Quarter turns that were left, from 1 on; of each rotation the last one that it passed, and that when it was looked at.
    Index quarters_left_ = 1;
    std::vector<Index> turned_, looked_at_;
    bool left_any_ = false;
    int rounds_ = 0;
    std::vector<SignedPauli> x_, z_;  // of C
    Mask zeros_ = 0;  // the wires that are 0 as the state grows
    Int microseconds_, within_, changes_ = 0;  // changes: of the frame
    std::size_t stays_ = 0, stayed_at_ = 0;  // how often it has changed since a rotation was written last
    Manner manner_;
};

}  // namespace qx::form
