// Splitting of complex matrices on one bit into a real rotation between phases.

#include "plan_rotate.hpp"

#include <algorithm>

#include "plan_fuse.hpp"

namespace qx::plan {

namespace {

constexpr char rotation_classes[] = {real, real, real, real};
constexpr char phase_classes[] = {complex_};

}  // namespace

bool splits(const Piece& piece, const Book& book) {
    if (!piece.unitary || piece.kind != Kind::mix || piece.num_mixed != 1 || piece.num_reads || piece.when.mask)
        return false;
    Interned::Bytes of = book.patterns[piece.pattern];
    return std::count(of.begin(), of.end(), static_cast<char>(complex_)) >= 3;
}

std::vector<Piece> rotate(std::vector<Piece> work, Book& book, NumberProgram& program) {
    std::ptrdiff_t found = std::count_if(work.begin(), work.end(), [&](const Piece& piece) { return splits(piece, book); });
    if (!found) return work;
    Index rotation = book.patterns.of({rotation_classes, 4}), phase = book.patterns.of({phase_classes, 1});
    Index label = book.labels.of("phase");
    std::vector<Piece> out;
    out.reserve(work.size() + 3 * static_cast<std::size_t>(found));
    for (const Piece& piece : work) {
        if (!splits(piece, book)) {
            out.push_back(piece);
            continue;
        }
        Index numbers = program.euler(piece.source).first;
        auto add = [&](Kind kind, When when, Index pattern, Index at, Index size, Index name) {
            Piece made;
            made.kind = kind, made.when = when, made.pattern = pattern, made.label = name;
            made.source = {numbers + at, size};
            int bit = book.bit(piece, 0);
            book.put(made, &bit, kind == Kind::mix, nullptr, 0);
            out.push_back(made);
        };
        When bit{piece.mixed.units, piece.mixed.units};
        add(Kind::diagonal, bit, phase, 5, 1, piece.label);
        add(Kind::mix, {}, rotation, 0, 4, piece.label);
        add(Kind::diagonal, bit, phase, 4, 1, piece.label);
        add(Kind::diagonal, {}, phase, 6, 1, label);
    }
    number_pieces(out, book);
    return out;
}

}  // namespace qx::plan
