// The form of a circuit: Pauli rotations, then one Clifford operator, then a phase.
//
// Whatever basis a circuit was written in, its Clifford gates are moved behind all rotations, where they only say how each
// wire is read, and what is left is a list of rotations about Pauli strings. Rotations merge, turns of virtual qubits are
// written with fewest rotations, and layers put what commutes in order. So most circuits have the same form in all bases.
// Angles are those of one binding: where a sum of them is a quarter turn, that is no rotation. Of several bindings, what
// differs among them is sums of phases, and such a rotation is there whatever its angle: so the form is one for them all.
#pragma once

#include <limits>
#include <memory>

#include "planner/circuit.hpp"
#include "planner/form/gates/varying.hpp"
#include "planner/form/layers.hpp"
#include "planner/form/zeros.hpp"

namespace qx::form {

// exp(-i angle/2 P) in a layer; what stands in one layer commutes.
struct Rotation {
    Pauli pauli;
    Angle angle;
    std::uint64_t layer;
};

// An instruction of which no rotations are known. Its matrix mixes wires of which the first generators are X, the next ones
// Z; the others are Z of what it reads and of its controls, parity by parity.
struct BlockOfForm {
    std::uint64_t instruction, first, count, layer;
};

// exp(-i angle/2 P) of an instruction, in the frame of the circuit; or one of `read_under`.
struct ReadRotation {
    Pauli pauli;
    Angle angle;
    Index under = Angle::none;
};

// A matrix of a wire where others have the values of a mask: an instruction under more conditions than rotations are read
// of.
struct ReadUnder {
    Mask conditions, values;
    int wire;
    std::array<Complex, 4> matrix;
};

class Form {
  public:
    // operands: the numbers of a circuit, [samples, stride], which stay where they are until the form is done: those of
    // some bindings. tolerance: what an angle, or a matrix, may be off. most: how many rotations there may be once all is
    // read, and twice as many on the way. There may be no blocks then, and as the circuit is read at most two rotations for
    // each instruction on several wires, and `rotations_ahead` more for each wire; negative for no limit. zeros: whether it
    // has to be the circuit on |0…0⟩ alone. only_read: whether it is done when all is read, without its list
    // and operator; then `most` is how many rotations are read, quarter turns, too, or half as many.
    Form(std::unique_ptr<plan::Reader> reader, const Complex* operands, Int samples, Int stride, int wires, double tolerance,
         Int most, bool zeros, bool only_read);
    // Of a form that is done and has only what was read: the whole one, for which nothing is read again.
    Form(const Form& read, Int most);

    // `refused`: an instruction makes a state, and has no form. `too_many`: there are too many rotations, or a block.
    // `varies`: an instruction differs among bindings in more than phases.
    enum class State { read, add, again, done, refused, too_many, varies };

    // Does a bounded amount of work. In state `read` it waits for `read`.
    State advance();
    // Reads the next part of the circuit, with the interpreter's lock held; returns false after a Python exception.
    bool read();

    // What is there when it is done.
    std::vector<Rotation> rotations;
    std::vector<BlockOfForm> blocks;
    std::vector<SignedPauli> generators;
    std::uint64_t key = 0;  // of all Pauli strings, layer by layer, of which angles are eighth turns, and of `zeros`
    Angle phase;            // the tableau's operator has a positive amplitude where C|0…0⟩ has its first one
    // Of what varies: phases, whose inputs are numbers of the circuit, and what these have to be.
    Index num_phases = 0;
    std::vector<Input> inputs;
    std::vector<Share> shares;
    std::vector<ReadRotation> read_in_order;  // all that was read, quarter turns, too; nothing if there is a block
    std::vector<ReadUnder> read_under;        // of a form that is only read
    Angle read_phase;                         // of the operations that are products of these
    // Whether there is only what was read.
    bool only_read() const { return only_read_; }
    bool on_zeros() const { return on_zeros_; }
    double tolerance() const { return tolerance_; }
    // What all angles may be off.
    Rounding rounding() const { return Rounding::of(tolerance_, static_cast<double>(instruction_)); }
    // How many instructions were on several wires.
    Int joins() const { return joins_; }
    const Sums& sums() const { return frame_.sums; }
    const Tableau& tableau() const { return frame_.tableau; }

  private:
    // The instruction at hand: its wires, masks of what it reads, and numbers.
    struct Instruction {
        const plan::Circuit::Row* row;
        const std::uint8_t* mixes;
        const Mask* reads;
    };

    // Of an instruction that was read: where its rotations end, and whether it is on several wires.
    struct Extent {
        Index end : 31;
        Index joins : 1;
    };

    void add_row();
    void add_again(const Extent& extent);
    bool add(const Instruction& of);
    bool is_too_dense(Int most) const;
    bool varies(const Instruction& of) const;
    bool add_varying(const Instruction& of, const Operation& operation);
    const Product* product(const Instruction& of, const Operation& operation);
    bool is_literal(Index pattern);
    void add_permutation(const Instruction& of);
    void add_rotations(const Instruction& of, const Product& product);
    void add_rotation(const Instruction& of, const LocalPauli& about, const Angle& angle);
    void add_read(const ReadRotation& rotation);
    bool add_under(const Instruction& of);
    void add_block(const Instruction& of);
    void add_again();
    void add_again(const Item& item);
    bool add_on_zeros(SignedPauli& string, const Angle& angle);
    void finish();

    std::unique_ptr<plan::Reader> reader_;  // null if all was read before
    std::vector<Extent> extents_;
    std::size_t again_ = 0;  // the next of those that were read before
    const Complex* operands_ = nullptr;
    std::size_t samples_ = 0, stride_ = 0;
    double tolerance_;
    Rounding rounding_;
    Int most_;
    bool only_read_;
    State state_ = State::read;
    plan::PlanContext context_;
    plan::Circuit circuit_;  // the part that was read last
    std::size_t row_ = 0, mixes_ = 0, reads_ = 0;
    Index instruction_ = 0;
    Int joins_ = 0;
    bool blocked_ = false;  // whether there is a block
    Memo known_, literal_;  // products of gates without numbers; patterns
    std::vector<Product> products_;
    Product made_;
    VaryingProduct varying_;
    Frame frame_;
    std::unique_ptr<Layers> layers_, before_;
    std::size_t layer_ = 0;  // of `before_`, that is added next
    int rounds_ = 0;
    bool axes_ = true;  // whether turns are written about the axes that come first, which goes on while it helps
    std::size_t size_ = ~std::size_t{0};  // of the list before
    bool on_zeros_;  // whether the list is to be looked through as one behind |0…0⟩
    std::optional<Zeros> zeros_;  // while it is
};

}  // namespace qx::form
