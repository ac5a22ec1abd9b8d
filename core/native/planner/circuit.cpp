// From the operations of a circuit, which are tuples of Python, to rows of numbers.

#include "planner/circuit.hpp"

#include <algorithm>

#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

using python::call;
using python::Object;

enum Field : Int { mixes, reads, when, pattern, operand, name, unitary };  // of qsim_ex.circuit.ops.Op

Index pattern_of(Object* bytes, PlanContext& context) {
    const char* data = call.bytes(bytes);
    return context.patterns.of({data, static_cast<std::size_t>(call.bytes_size(bytes))});
}

Index label_of(Object* text, PlanContext& context) {
    Int size = 0;
    const char* data = call.text(text, &size);
    return context.labels.of({data ? data : "", static_cast<std::size_t>(size)});
}

// How many operands an operation has.
Int num_entries(Object* op, Circuit::Type type) {
    if (type == Circuit::initialize) return Int{1} << call.tuple_size(call.tuple_item(op, mixes));
    return type == Circuit::op ? call.bytes_size(call.tuple_item(op, pattern)) : 0;
}

// The numbers of the object that was read last: most operations share their condition, and whether they are unitary.
template <class Value>
class Last {
  public:
    template <class Read>
    const Value& operator()(Object* object, Read read) {
        if (object != object_) object_ = object, value_ = read(object);
        return value_;
    }

  private:
    Object* object_ = nullptr;
    Value value_{};
};

}  // namespace

Reader::Reader(Object* ops, const Int* types) : ops_(ops), types_(types), size_(call.tuple_size(ops)) {}

Int Reader::num_operands() const {
    Int found = num_operands_;
    for (Int k = at_; k < size_; ++k) {
        Object* op = call.tuple_item(ops_, k);
        Int entries = num_entries(op, types_ ? static_cast<Circuit::Type>(types_[k]) : Circuit::op);
        if (entries) found = std::max(found, python::integer(op, operand) + entries);
    }
    return found;
}

Int Reader::parts() const { return (size_ + thresholds.read_at_once - 1) / thresholds.read_at_once; }

bool Reader::next(Circuit& out, PlanContext& context) {
    Int end = at_ + thresholds.read_at_once.at_most(size_ - at_);
    out.clear();
    out.rows.reserve(static_cast<std::size_t>(end - at_));
    Last<When> conditions;
    Last<bool> unitaries;
    for (; at_ < end; ++at_) {
        Object* op = call.tuple_item(ops_, at_);
        Object *on = call.tuple_item(op, mixes), *masks = call.tuple_item(op, reads);
        Int num_mixes = call.tuple_size(on), num_reads = call.tuple_size(masks);
        for (Int j = 0; j < num_mixes; ++j) out.mixes.push_back(static_cast<std::uint8_t>(python::integer(on, j)));
        for (Int j = 0; j < num_reads; ++j) out.reads.push_back(static_cast<Mask>(python::integer(masks, j)));
        const Circuit::Row row{python::integer(op, operand),
                               conditions(call.tuple_item(op, when),
                                          [](Object* of) {
                                              return When{static_cast<Mask>(python::integer(of, 0)),
                                                          static_cast<Mask>(python::integer(of, 1))};
                                          }),
                               patterns_(call.tuple_item(op, pattern), [&](Object* of) { return pattern_of(of, context); }),
                               labels_(call.tuple_item(op, name), [&](Object* of) { return label_of(of, context); }),
                               static_cast<std::uint32_t>(num_reads),
                               static_cast<std::uint8_t>(num_mixes),
                               types_ ? static_cast<Circuit::Type>(types_[at_]) : Circuit::op,
                               unitaries(call.tuple_item(op, unitary), [](Object* of) { return call.integer(of) != 0; })};
        const Int entries = row.type == Circuit::op ? static_cast<Int>(context.patterns.all()[row.pattern].size())
                                                    : num_entries(op, row.type);
        if (entries) num_operands_ = std::max(num_operands_, row.operand + entries);
        out.rows.push_back(row);
    }
    return !call.error();
}

}  // namespace qx::plan
