// Outcomes of shots as Qiskit has them: in binary, and how often each was found. qsim_ex_provider.results asks for them.

#include <cstdint>
#include <vector>

#include "base/export.hpp"
#include "readers/python.hpp"

namespace {

using qx::Int;
using qx::python::call;
using qx::python::Object;

constexpr Int values_of_a_byte = 256;

// Rows of packed bits: bit b of a row is bit b % 8 of byte b / 8.
struct Rows {
    const std::uint8_t* bits;
    std::size_t size, width;
    const std::uint8_t* row(std::size_t k) const { return bits + k * width; }
};

// Returns the order in which rows ascend as integers, equal ones as they come: by one byte after the other, the least
// significant first. Where rows are wide, most bytes are the same in all.
std::vector<std::size_t> ascending(const Rows& rows) {
    std::vector<std::size_t> order(rows.size), sorted(rows.size);
    for (std::size_t k = 0; k < rows.size; ++k) order[k] = k;
    for (std::size_t byte = 0; byte < rows.width; ++byte) {
        std::size_t begins[values_of_a_byte] = {};
        for (std::size_t k = 0; k < rows.size; ++k) ++begins[rows.row(k)[byte]];
        if (begins[rows.row(0)[byte]] == rows.size) continue;
        std::size_t next = 0;
        for (std::size_t& begin : begins) {
            const std::size_t here = begin;
            begin = next;
            next += here;
        }
        for (const std::size_t k : order) sorted[begins[rows.row(k)[byte]]++] = k;
        order.swap(sorted);
    }
    return order;
}

bool equal(const Rows& rows, std::size_t a, std::size_t b) {
    for (std::size_t byte = 0; byte < rows.width; ++byte)
        if (rows.row(a)[byte] != rows.row(b)[byte]) return false;
    return true;
}

// Writes rows in binary, the most significant bit first, with spaces between.
class Text {
  public:
    // ends: of the parts between spaces, by the bits that stand before them.
    Text(Int bits, const Int* ends, Int num_ends) : letters_(static_cast<std::size_t>(bits + num_ends - 1), ' ') {
        places_.reserve(static_cast<std::size_t>(bits));
        for (Int bit = 0, part = 0; bit < bits; ++bit) {
            while (part < num_ends - 1 && bit >= ends[part]) ++part;
            places_.push_back(static_cast<std::size_t>(bit + part));
        }
    }

    // Returns a row's text, null after an exception.
    Object* of(const std::uint8_t* row) {
        std::size_t bit = places_.size();
        for (const std::size_t place : places_) {
            --bit;
            letters_[place] = static_cast<char>('0' + (row[bit / 8] >> bit % 8 & 1));
        }
        return call.new_text(letters_.data(), static_cast<Int>(letters_.size()));
    }

  private:
    std::vector<char> letters_;
    std::vector<std::size_t> places_;
};

// Sets an entry; returns false after an exception. Takes both references.
bool set(Object* dictionary, Object* key, Object* value) {
    const bool done = key && value && call.set_item(dictionary, key, value) == 0;
    if (key) call.decrease(key);
    if (value) call.decrease(value);
    return done;
}

Int write(const Rows& rows, const Int* counts, Text text, Object* dictionary) {
    const std::vector<std::size_t> order = ascending(rows);
    Int count = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        count += counts ? counts[order[k]] : 1;
        if (k + 1 < order.size() && equal(rows, order[k], order[k + 1])) continue;
        Object* const key = text.of(rows.row(order[k]));
        if (!set(dictionary, key, call.new_integer(count))) return -1;
        count = 0;
    }
    return 0;
}

}  // namespace

// Sets in a dictionary for each distinct row, in increasing order, its first `bits` bits in binary to how often it comes.
// packed: [shots, width]. counts: how often each row stands for itself; null for once. ends: of the parts of the text, the
// last of which ends with all bits. Returns -1 after an exception.
QX_EXPORT(outcomes_counted, (const std::uint8_t* packed, const Int* counts, Int shots, Int width, Int bits, const Int* ends,
                             Int num_ends, Object* dictionary)) {
    return qx::guarded([&] {
        const Rows rows{packed, static_cast<std::size_t>(shots), static_cast<std::size_t>(width)};
        return shots ? write(rows, counts, Text(bits, ends, num_ends), dictionary) : 0;
    });
}
