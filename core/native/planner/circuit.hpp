// The instructions of a circuit as planning reads them, and the machine as it sees it.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "planner/piece.hpp"
#include "planner/rules.hpp"
#include "readers/known.hpp"

namespace qx::plan {

// The machine as planning sees it: qsim_ex.steps.Shape, fitted to the state. -1 for no bound, and for no blocks.
struct Shape {
    int tile, registers, low, edge, most_blocks, dense, table, start, block_made;
    bool has_blocks, floats, relabels, linear;
    double item_work, balance, block, seen, transposed, counted, exchanged;
    int fewer;
    double scattered, elsewhere, permute;
    Rules rules;

    // Leaves out what rules say that are no more than numbers here.
    void follow_rules() {
        floats = floats && rules.has(Rule::floating);
        linear = linear && rules.has(Rule::cnot_frame);
        has_blocks = has_blocks && rules.has(Rule::blocks);
        if (!rules.has(Rule::narrow)) fewer = 0;
        if (!rules.has(Rule::tables)) table = 0;
    }
    // How many times as long reading and writing takes as in whole pieces.
    double slowed() const { return low == fewer ? scattered : 1; }
    // The multiply-adds per amplitude as which a block's matrix counts in a sweep over 2^visited amplitudes; below 0 where
    // there are no blocks.
    double making(int visited) const {
        constexpr int most = 2;
        return has_blocks && visited >= block_made - most ? std::ldexp(1.0, block_made - visited) : -1;
    }
    // Whether amplitudes that differ in the lowest bits alone are computed as one vector.
    bool in_vectors() const { return item_work > 0; }
    // The multiply-adds per amplitude that take as long as reading and writing it once, where register blocks are counted.
    double rate() const { return counted != 0 ? counted : balance; }
    // The time of a sweep, whose memory and arithmetic overlap in part.
    double taken(double memory, double arithmetic) const {
        return std::max(memory, arithmetic) + seen * std::min(memory, arithmetic);
    }
    // The shape with so many lowest bits: its own, or fewer.
    Shape with(int lows) const {
        Shape out = *this;
        if (lows != low) out.low = fewer, out.edge = std::min(edge, fewer);
        return out;
    }
};

// Some instructions as rows; their wires and masks stand one behind the other, in the order of the rows.
struct Circuit {
    enum Type : std::uint8_t { op, permutation, initialize };
    struct Row {
        Int operand;
        When when;
        Index pattern, name;
        std::uint32_t num_reads;
        std::uint8_t num_mixes;
        Type type;
        bool unitary;
    };
    std::vector<Row> rows;
    std::vector<std::uint8_t> mixes;  // wires
    std::vector<Mask> reads;          // masks of wires; of a permutation its indices

    void clear() { rows.clear(), mixes.clear(), reads.clear(); }
};

// Reads a tuple of operations, some at a time, so that rows of a large circuit never stand beside all that is made of them.
// Whoever uses it keeps the tuple and the types, and holds the interpreter's lock.
class Reader {
  public:
    // types: of each instruction, or null if all are operations.
    Reader(python::Object* ops, const Int* types);

    Int size() const { return size_; }
    // How many parts it reads.
    Int parts() const;
    bool at_begin() const { return at_ == 0; }
    bool done() const { return at_ == size_; }
    // The circuit has so many operands at least, entries 0 and 1 being constants; looks at what is not read yet.
    Int num_operands() const;
    // Replaces the rows by the next ones; patterns and names are put into the context. Returns whether all went well; if
    // not, a Python exception is raised.
    bool next(Circuit& out, PlanContext& context);

  private:
    python::Object* ops_;
    const Int* types_;
    Int size_, at_ = 0, num_operands_ = 2;  // of what is read
    Known patterns_, labels_;
};

}  // namespace qx::plan
