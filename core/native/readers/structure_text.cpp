// The text of a circuit's instructions, as Python's `repr` writes it: qsim_ex.circuit.digest makes keys of it.

#include <algorithm>

#include "base/export.hpp"
#include "readers/known.hpp"
#include "thresholds/table.hpp"

namespace {

using qx::Int;
using qx::plan::Index;
using qx::python::call;
using qx::python::Object;
using View = std::basic_string_view<char>;

enum Field : Int { mixes, reads, when, pattern, operand, name, unitary };  // of qsim_ex.circuit.ops.Op

// The texts of objects that come again and again, as their wires, patterns and names do; whoever uses it keeps the objects.
class Texts {
  public:
    // Returns the text of an object; after an exception it is empty.
    View operator()(Object* of) {
        return views_[known_(of, [&](Object* object) {
            Object* text = kept_.keep([&] { return call.repr(object); });
            Int size = 0;
            const char* data = text ? call.text(text, &size) : nullptr;
            views_.push_back(data ? View{data, static_cast<std::size_t>(size)} : View{});
            return static_cast<Index>(views_.size() - 1);
        })];
    }

  private:
    qx::plan::Known known_;
    std::vector<View> views_;
    qx::python::References kept_;
};

// Writes into a buffer as much as it has room for.
class Writer {
  public:
    Writer(char* buffer, Int room) : begin_(buffer), at_(buffer), end_(buffer + room) {}

    Writer& operator<<(View text) {
        fits_ = fits_ && static_cast<Int>(text.size()) <= end_ - at_;
        if (fits_) at_ = std::copy(text.begin(), text.end(), at_);  // of no text there may be no address
        return *this;
    }
    Writer& operator<<(Int number) {
        char digits[24], *first = digits + sizeof digits;
        auto rest = static_cast<std::uint64_t>(number < 0 ? -number : number);
        do *--first = static_cast<char>('0' + rest % 10);
        while (rest /= 10);
        if (number < 0) *--first = '-';
        return *this << View{first, static_cast<std::size_t>(digits + sizeof digits - first)};
    }
    bool fits() const { return fits_; }
    Int size() const { return at_ - begin_; }

  private:
    char *begin_, *at_, *end_;
    bool fits_ = true;
};

void write_operation(Object* op, Texts& text, Writer& out) {
    auto of = [&](Field field) { return call.tuple_item(op, field); };
    out << "Op(mixes=" << text(of(mixes)) << ", reads=" << text(of(reads)) << ", when=" << text(of(when));
    out << ", pattern=" << text(of(pattern)) << ", operand=" << call.integer(of(operand));
    out << ", name=" << text(of(name)) << ", unitary=" << text(of(unitary)) << ")";
}

bool is_of(Object* object, Object* type) {
    Object* own = call.type(object);
    call.decrease(own);
    return own == type;
}

}  // namespace

// Writes instructions from place `begin` to `end` as a tuple of them has them, ", " before each but place 0, while there is
// room. Returns the place of the first that is not written, -1 after an exception.
QX_EXPORT(structure_text,
          (Object* instructions, Object* op_type, Int begin, Int end, char* buffer, Int room, Int* written)) {
    return qx::guarded([&] {
        Texts text;
        Writer out(buffer, room);
        for (Int place = begin; place < end; ++place) {
            *written = out.size();
            Object* one = call.tuple_item(instructions, place);
            if (place) out << ", ";
            if (is_of(one, op_type)) write_operation(one, text, out);
            else out << text(one);
            if (call.error()) return Int{-1};
            if (qx::thresholds.written_bytes.met(!out.fits())) return place;
        }
        *written = out.size();
        return end;
    });
}
