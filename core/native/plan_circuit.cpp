// From the operations of a circuit, which are tuples of Python, to rows of numbers.

#include "plan_circuit.hpp"

#include <algorithm>

namespace qx::plan {

namespace {

using python::Object;
using python::call;

enum Field : Int { mixes, reads, when, pattern, operand, name, unitary };  // of qsim_ex.circuit.ops.Op

// The numbers of objects that come again and again, by their addresses.
class Known {
  public:
    template <class Read>
    Index operator()(Object* object, Read read) {
        Index& known = numbers_[reinterpret_cast<std::uint64_t>(object)];
        if (known == Memo::none) known = read(object);
        return known;
    }

  private:
    Memo numbers_;
};

Index pattern_of(Object* bytes, Book& book) {
    const char* data = call.bytes(bytes);
    return book.patterns.of({data, static_cast<std::size_t>(call.bytes_size(bytes))});
}

Index label_of(Object* text, Book& book) {
    Int size = 0;
    const char* data = call.text(text, &size);
    return book.labels.of({data ? data : "", static_cast<std::size_t>(size)});
}

Int num_entries(const Circuit::Row& row, const Book& book) {
    if (row.type == Circuit::initialize) return Int{1} << row.num_mixes;
    return row.type == Circuit::op ? static_cast<Int>(book.patterns[row.pattern].size()) : 0;
}

}  // namespace

bool read(Object* ops, const Int* types, Circuit& out, Book& book) {
    Int size = call.tuple_size(ops);
    out.rows.reserve(static_cast<std::size_t>(size));
    Known patterns, labels;
    for (Int k = 0; k < size; ++k) {
        Object* op = call.tuple_item(ops, k);
        Object *on = call.tuple_item(op, mixes), *masks = call.tuple_item(op, reads), *under = call.tuple_item(op, when);
        Int num_mixes = call.tuple_size(on), num_reads = call.tuple_size(masks);
        for (Int j = 0; j < num_mixes; ++j) out.mixes.push_back(static_cast<std::uint8_t>(python::integer(on, j)));
        for (Int j = 0; j < num_reads; ++j) out.reads.push_back(static_cast<Mask>(python::integer(masks, j)));
        Circuit::Row row{python::integer(op, operand),
                         {static_cast<Mask>(python::integer(under, 0)), static_cast<Mask>(python::integer(under, 1))},
                         patterns(call.tuple_item(op, pattern), [&](Object* of) { return pattern_of(of, book); }),
                         labels(call.tuple_item(op, name), [&](Object* of) { return label_of(of, book); }),
                         static_cast<std::uint32_t>(num_reads),
                         static_cast<std::uint8_t>(num_mixes),
                         types ? static_cast<Circuit::Type>(types[k]) : Circuit::op,
                         python::integer(op, unitary) != 0};
        if (Int entries = num_entries(row, book)) out.num_operands = std::max(out.num_operands, row.operand + entries);
        out.rows.push_back(row);
    }
    return !call.error();
}

}  // namespace qx::plan
