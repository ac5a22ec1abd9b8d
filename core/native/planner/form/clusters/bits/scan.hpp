// What pieces from one on do in all, as far as that is looked for.
#pragma once

#include "planner/form/clusters/bits/axis_pieces.hpp"
#include "planner/form/clusters/bits/evaluation.hpp"
#include "planner/form/clusters/bits/piece_lines.hpp"

namespace qx::form {

constexpr double least_worth = 2;  // so many pieces make one at least

// An end of what is looked at from a piece on: so many pieces, and what they do in all. before: those between them that
// come first.
struct End {
    double worth = 0;
    std::size_t pieces = 0;
    std::vector<std::size_t> inside{}, before{};
    InAll all{};
};

// Steps that were taken: in all, more than what is enough from a piece on, and where frames were let go of.
struct Steps {
    std::size_t all = 0, more = 0, again = 0;
};

// Goes on from a piece to the best end.
class Scanner {
  public:
    // Pieces, which of them return, and their lines, which stay where they are. within: how many steps may be more than
    // enough, and half of how many where frames are let go of.
    Scanner(const AxisPieces& given, const std::vector<bool>& returns, const PieceLines& lines, bool zeros,
            std::size_t within)
        : given_(given), returns_(returns), lines_(lines), zeros_(zeros), within_(within) {}

    // Returns the best end from a piece on, with no pieces if there is none that may be taken. taken: to which its steps are
    // added.
    End best(std::size_t from, Steps& taken);

  private:
    using Frames = Evaluation::Frames;

    // How many entries what all is has been looked at with from a piece on, and what was left when a piece acted last.
    struct Looked {
        std::size_t entries = 0, fewest = 0, left = 0;
    };

    End scan(std::size_t from, Frames frames, Steps& taken, bool& refused);
    bool may_look(const Evaluation& now, std::size_t pieces, const End& best, Looked& at) const;
    static void look(const Evaluation& of, std::size_t pieces, End& best);

    const AxisPieces& given_;
    const std::vector<bool>& returns_;
    const PieceLines& lines_;
    bool zeros_;
    std::size_t within_;
    Diagrams diagrams_;  // of what is looked at from a piece on
};

}  // namespace qx::form
