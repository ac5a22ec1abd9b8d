// What two H on a bit and known phases between them are: an X under conditions, and phases of other bits.
//
// An H looks back for the one before it on its bit. Where the phases between them turn the bit by 0 or pi for all values of
// the others, an X under conditions takes the place of both.
#pragma once

#include "plan_algebra.hpp"
#include "plan_numbers.hpp"
#include "plan_window.hpp"

namespace qx::plan {

// Passes pieces on in their order. A piece that is given has an even position, so that there is room for an X behind it.
class Controls {
  public:
    // num_pieces: the most that will be added.
    Controls(Book& book, NumberProgram& program, Int num_pieces)
        : book_(book), program_(program), window_(static_cast<Index>(std::clamp(num_pieces, Int{1}, most))),
          kept_(2 * window_ + 2) {}

    // Takes the next piece, and calls take(piece) for what no later piece can change.
    template <class Take>
    void add(const Piece& piece, Take take) {
        if (!takes(piece)) kept_.push(piece, 2 * now_);
        pass_on(take);
    }
    // Goes on for some positions; returns whether nothing is held any more.
    template <class Take>
    bool finish(int positions, Take take) {
        for (int k = 0; k < positions && left_ < window_; ++k, ++left_) pass_on(take);
        return left_ == window_;
    }

  private:
    static constexpr Int most = 1024;       // how many pieces back an H may look for its other, and a phase forward
    static constexpr int looked_at = 64;    // the most pieces on a bit that are looked at
    static constexpr int most_parities = 4;  // the most independent parities of an X's conditions
    static constexpr Index none = ~Index{0};

    // An H between phases: e^{i gamma} diag(1, e^{i alpha}) H diag(1, e^{i beta}), in eighth turns.
    struct Turn {
        int alpha, beta, gamma;
    };
    // Phases in the making.
    struct Phases {
        When when;
        std::vector<Mask> reads;
        std::vector<Index> places;
        std::vector<char> classes;
    };
    // An X for some values of parities: value x of them flips if bit x of `flips` is set.
    struct Flips {
        Vectors parities;
        unsigned flips = 0;
    };

    template <class Take>
    void pass_on(Take take) {
        if (now_ >= window_) settle(2 * (now_ - window_));
        ++now_;
        kept_.pass_on(2 * now_, take), kept_.pass_on(2 * now_ + 1, take);  // the room of those is free then
    }
    bool turn_of(const Piece& piece, Turn& out) const;
    bool is_known(const Piece& piece) const;
    bool takes(const Piece& piece);
    bool find(int bit, Turn& first);
    bool flips_of(int bit, int more, Flips& out) const;
    Index place_of(int bit) const;
    bool mixes(Mask bits, Index begin, Index end) const;
    void settle(Index position);
    bool put_x(const Flips& flips, int bit, Index label, Index position);
    void put_x_under(const Vectors& parities, unsigned flips, int bit, Index label, Index position);
    void put_phase(const Piece& of, int gamma, int more, Index position);
    Index number(const Piece& of, int turns);
    void restrict(Index position, int bit);
    bool simplify(Phases& phases) const;
    void put(Piece piece, const Phases& phases, Index position);

    Book& book_;
    NumberProgram& program_;
    const Index window_;
    Window kept_;
    std::vector<Index> between_;  // the positions of the phases between two H
    Index first_ = 0;             // the position of the first H
    Index now_ = 0, left_ = 0;    // how many pieces were added
};

}  // namespace qx::plan
