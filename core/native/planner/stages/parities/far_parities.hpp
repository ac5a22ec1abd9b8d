// Which work runs in which stage, where what is far may be any parity: division.hpp, with CX in the frame.
//
// A bit is far if its value says in which memory an amplitude lies. For the work of linear/frame.hpp that need not be a
// bit of the start: any parity of bits will do, and a piece of work runs if no direction that it mixes changes a far
// parity. So CX keeps nothing waiting. Candidates are the parities that are bits at some time of the circuit. For each
// piece one mask says which of them would keep it waiting, by itself or by a piece that has to come before it.
#pragma once

#include <array>
#include <compare>

#include "planner/linear/locality.hpp"

namespace qx::plan {

// A set of candidates: parities that are bits at some time.
struct Candidates {
    static constexpr std::size_t most = 640;  // 512, and those of the start and of the end
    static constexpr std::size_t words = most / 64;

    std::array<Mask, words> bits{};

    void add(std::size_t number) { bits[number / 64] |= Mask{1} << number % 64; }
    bool has(std::size_t number) const { return bits[number / 64] >> number % 64 & 1; }
    bool meets(const Candidates& other) const {
        Mask both = 0;
        for (std::size_t k = 0; k < words; ++k) both |= bits[k] & other.bits[k];
        return both != 0;
    }
    bool within(const Candidates& other) const {
        Mask more = 0;
        for (std::size_t k = 0; k < words; ++k) more |= bits[k] & ~other.bits[k];
        return !more;
    }
    Candidates& operator|=(const Candidates& other) {
        for (std::size_t k = 0; k < words; ++k) bits[k] |= other.bits[k];
        return *this;
    }
    auto operator<=>(const Candidates&) const = default;
    // The numbers of those in the set, ascending.
    Numbers numbers() const;
};

// Pieces of work that run while some parities are far.
struct FarStage {
    Numbers pieces;
    Vectors far;
};

// Divides framed work into stages with `size` far parities each: a full state from its start on, a new one from its end.
class FarParities {
  public:
    // end: the frame at the end, of whose bits the lowest are not far then. first: of a full state bits of which those are
    // chosen that are far in the first stage. forced: whether they all are. named: whether bits that are far in the end have
    // to be on places of their own, where no others can be just before.
    FarParities(const FramedWork& work, const Vectors& candidates, int size, bool is_new, int low, const Vectors& first,
                bool forced, bool named);

    // Goes on by a stage; returns whether all work is divided. A division of more stages takes more calls.
    bool advance();
    std::vector<FarStage> stages;  // those of a finished division

  private:
    struct Path {
        Numbers pending;
        std::vector<FarStage> stages;
        Int weight;
    };
    struct Set {
        Numbers columns;
        Vectors basis;
        Int liked;
    };

    void further(const Path& path, bool is_first, std::vector<Path>& out) const;
    std::vector<Candidates> blocked(const Numbers& pending) const;
    void sets(const Path& path, const std::vector<Candidates>& blocked, const Candidates& among,
              std::vector<Numbers>& out) const;
    Candidates those_of(const Vectors& parities) const;
    bool collides(const Path& path) const;

    const Vectors& all_;
    const Vectors ends_;  // the parities of the bits of the end
    std::size_t size_;
    bool new_, forced_, named_;
    Candidates every_, begin_, last_;
    std::vector<Int> weights_;
    std::vector<Candidates> own_;  // of each piece, which would keep it waiting
    std::vector<Numbers> before_;  // of each piece, those that come just before it
    std::vector<Path> paths_;
    bool begun_ = false;
};

// Whether parities can be far in the stage behind one: a sum of those far before can be only one of them.
bool follows(const Vectors& before, const Vectors& far);

// Returns the parities that are bits at some time: all of the start and of the end, and some in between.
Vectors candidates_of(const std::vector<Piece>& work, const Frame& end, const PlanContext& context);

}  // namespace qx::plan
