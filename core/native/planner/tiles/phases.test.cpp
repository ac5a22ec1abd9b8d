// Tests of tables of phases, against their factors looked at one by one.

#include "planner/tiles/phases.hpp"

#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

struct Turn {
    std::vector<Mask> parities;
    Mask wanted;
    char kind;
    Index place;
};

bool belongs(const Turn& factor, Mask entry) {
    bool all = true;
    for (std::size_t k = 0; k < factor.parities.size(); ++k)
        all = all && is_odd(factor.parities[k] & entry) == (factor.wanted >> k & 1);
    return all;
}

}  // namespace

TEST_CASE("an entry has the factors whose parities have the wanted values, and the class of their product") {
    std::mt19937 random(1);
    for (const Index columns : {0u, 1u, 5u, 63u, 64u, 65u, 130u})
        for (const std::size_t bits : {0u, 1u, 4u, 7u})
            for (const bool plain : {false, true}) {
                PhaseTable table(bits, columns);
                std::vector<Turn> factors;
                for (Index k = 0; k < columns; ++k) {
                    Turn factor{{},
                                random() & 7,
                                plain ? static_cast<char>(complex_) : static_cast<char>(1 + random() % 5),
                                100 + k};
                    for (std::size_t number = random() % 4; number > 0; --number)
                        factor.parities.push_back(bits ? random() & below(static_cast<int>(bits)) : 0);
                    factors.push_back(factor);
                    table.add(factor.parities, factor.wanted, factor.kind, factor.place);
                }
                table.finish();
                REQUIRE(table.entries() == std::size_t{1} << bits);
                REQUIRE(table.factors.size() == columns);
                const std::size_t words = (columns + 63) / 64;
                for (Mask entry = 0; entry < table.entries(); ++entry) {
                    char expected = one;
                    bool right = true;
                    for (std::size_t k = 0; k < columns; ++k) {
                        const bool here = belongs(factors[k], entry);
                        if (here) expected = times(expected, factors[k].kind);
                        right = right && here == (table.incidence[entry * words + k / 64] >> k % 64 & 1);
                        right = right && table.factors[k] == factors[k].place;
                    }
                    CHECK(right);
                    CHECK(table.classes[entry] == expected);
                }
            }
}
