// The form of a run on a GPU as flat arrays: the meaning of each integer.
//
// planner/encode/launches/launches.cpp writes it, kernels/enqueue.cpp reads it. `words` are instructions one behind the
// other; `places`, of 32 bits, are indices into the coefficient buffer, or into it as real numbers; `room`, of float64,
// begins with the coefficient buffer and, behind it, the constants 0, 1 and -1 (see qsim_ex.kernels.cuda.interpret.packing).
#pragma once

#include "base/int.hpp"

namespace qx {

// An instruction begins with what it is:
// operands: how many of the circuit's operands the coefficient buffer begins with.
// products: where its places begin, how many results it has, and how many terms each is the sum of; for each result its own
//   place, and then two places a term.
// eulers: where its places begin, how many matrices it has, and whether their rotations are imaginary; for each its four
//   places, and that of its first result.
// entry, of a small table: its own place, where the places of its factors begin, and how many there are.
// take, take_single: where its places (of reals) begin, how many there are, and where they go: the number of a float64 in
//   the room, or of a float32.
// launch: the kernel's handle, blocks, threads, how many arguments it has; behind it the arguments.
// numbers: the address of a compiled plan, and where in the room there are `CoefficientProgram::room` bytes for a while; all
//   numbers but tables are made at once, in the planner's order.
// pivots, behind a take: where the places of that begin, where the records of pivots begin (see kernels/pivots.hpp), how
//   many words they have, where the taken numbers went, and the bytes of one.
// rows, products whose right factors are rows of 16 numbers (see kernels/matrix_rows.hpp): its first place, how many
//   products there are, the rows that the left factor mixes, and how often; for each product its first result's place, the
//   places of the left factor, and where each row begins, or -1 - j for row j of the unit matrix.
enum Word : Int {
    end_word,
    operands_word,
    products_word,
    eulers_word,
    entry_word,
    take_word,
    take_single_word,
    launch_word,
    numbers_word,
    pivots_word,
    rows_word
};

// The words of each instruction, except for the arguments of a launch; and those of the longest, which are read at once: as
// many stand behind the end.
constexpr Int word_length[] = {1, 2, 4, 4, 4, 4, 4, 5, 3, 6, 5}, longest_word = 6;

// An argument: its kind, and a number: itself; what is added to the state's address, or to that of the tables; the byte of
// the room at which a struct begins; or the address of a struct that stays.
enum Argument : Int { plain_argument, state_argument, tables_argument, struct_argument, kept_argument };

constexpr Int most_arguments = 12;

// The head of `words`: where in the room arguments are laid out (their values, and then pointers to them).
constexpr Int slots_word = 0, head_words = 1;

}  // namespace qx
