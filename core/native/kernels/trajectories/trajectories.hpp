// The tables of compiled trajectories, as qsim_ex.run.trajectory_tables lays them out: steps, channels, their numbers.
#pragma once

#include "base/int.hpp"

namespace qx::trajectories {
namespace {

enum Kind : Int { GATE, CHOICE, READING };

// A step. number: the first entry of a gate's matrix; the channel of a choice; of a reading the channel for the true
// value 0. at: where its integers begin: the masks of its wires, then the masks that it reads; of a reading the columns
// of its bits (−1: the bit is 0), then those of what is read. wires, reads: how many. mask, value: of ops.When.
// outcome: of a gate where its condition begins, −1 without one; of a choice its column, which is the place of its key
// too; of a reading the place of its key.
struct Step {
    Int kind, number, at, wires, reads, mask, value, outcome;
};

// A channel. count, size: matrices, and their rows. entries, width: the first entry of the first matrix, and the entries
// of each, or of its factors. floats: where its numbers begin. diagonal: whether populations are enough for its
// probabilities. mixed: whether it is mixed-unitary. ordinary: the matrix that is chosen inside the window. skips:
// whether that is 1, once scaled. window: whether it has one; without, every random number is an event.
struct Channel {
    Int count, size, entries, width, floats, diagonal, mixed, ordinary, skips, window;
};

// The numbers of a channel (see qsim_ex.program.choices): its window and the factor on random numbers; then, `count` each,
// the ends of the intervals in which matrices are chosen without the state, scales, least eigenvalues, and the matrices
// that belong to the ends; then the gains [count, size], and the grams [count, size, size], complex.
struct Numbers {
    const double* at;
    Int count, size;

    double low() const { return at[0]; }
    double high() const { return at[1]; }
    double factor() const { return at[2]; }
    const double* ends() const { return at + 3; }
    const double* scales() const { return ends() + count; }
    const double* least() const { return scales() + count; }
    const double* order() const { return least() + count; }
    const double* gains() const { return order() + count; }
    const double* grams() const { return gains() + count * size; }
};

// What is run, and where results go.
//
// next_work: for each step, and the end, the first one from there on that does something without an event, or where a
// block of BLOCK steps begins. blocks: the first steps of those blocks that are certain without an event, and are one
// matrix. m: the entries of all matrices, real and imaginary parts in turn. keys: [numbers, 2]. order: the steps that
// are choices with a window, in order. defaults: the outcome of each column inside its window. most: the largest number
// of outcomes of a step. first, shots: the shots to run.
// Written: out, complex64 if `single` or complex128 [groups, 2^n], the state of each group; out_shots, out_counts: the
// shots of each group, ascending, counted from `first`, and how many they are; out_outcomes: [groups, columns].
struct Request {
    Int num_wires, num_steps, num_channels, num_blocks, num_order, columns, most, first, shots, single;
    const Step* steps;
    const Channel* channels;
    const Int *next_work, *blocks, *order, *ints;
    const double *floats, *m;
    const std::uint64_t* keys;
    const std::uint8_t* defaults;
    void* out;
    Int *out_shots, *out_counts;
    std::uint8_t* out_outcomes;
};

constexpr Int BLOCK = 32;

inline Int least(Int a, Int b) { return a < b ? a : b; }
inline double least(double a, double b) { return a < b ? a : b; }
inline double most(double a, double b) { return a > b ? a : b; }

}  // namespace
}  // namespace qx::trajectories
