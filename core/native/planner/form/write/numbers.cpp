// The numbers of a written circuit for those of the circuit that it is written out of: qsim_ex.planning.written.numbers,
// which says what each sum is and makes the lists.

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "base/export.hpp"
#include "base/refusal.hpp"
#include "planner/form/gates/rounding.hpp"

namespace {

using qx::Int;
using Complex = std::complex<double>;

// std::complex multiplies with care for infinities, in a call.
Complex times(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
Complex times(double a, double b) { return a * b; }

// Linear combinations of numbers, each of one at least; the place −1 is a 1.
template <class Number>
struct Combinations {
    Int count, summands;
    const Int *places, *starts;
    const Number* by;

    template <class Of>
    void write(Of of, Complex* out) const {
        for (Int k = 0; k < count; ++k) {
            Complex sum = 0;
            const Int end = k + 1 < count ? starts[k + 1] : summands;
            for (Int at = starts[k]; at < end; ++at) sum += places[at] < 0 ? Complex{by[at]} : times(of(places[at]), by[at]);
            out[k] = sum;
        }
    }
};

struct Numbers {
    Int total, num_varying, num_constants, num_entries;
    const Complex* first;
    const Int* varying;
    const Complex* constants;
    const Int* angle_of;
    const double* cos;
    const Complex *sin, *number;
    Combinations<Complex> phases, entries;
    Combinations<double> angles;
};

class Binding {
  public:
    explicit Binding(const Numbers& numbers)
        : numbers_(numbers), made_(static_cast<std::size_t>(std::max(numbers.entries.count, numbers.angles.count))),
          turned_(static_cast<std::size_t>(numbers.phases.count)), half_(static_cast<std::size_t>(numbers.angles.count)) {}

    // Sets e^{iφ} of each phase, which is not a number where a sum is 0.
    void turn(const Complex* operands, Complex* sums) {
        numbers_.phases.write([operands](Int place) { return operands[place]; }, sums);
        for (std::size_t k = 0; k < turned_.size(); ++k) turned_[k] = sums[k] / std::abs(sums[k]);
    }
    void angles(double* out) {
        const Complex* turned = turned_.data();
        numbers_.angles.write([turned](Int place) { return std::arg(turned[place]); }, made_.data());
        for (std::size_t k = 0; k < half_.size(); ++k) out[k] = made_[k].real();
    }
    // Writes which operands are not what they were taken to be.
    void unfit(const Complex* operands, double tolerance, bool* wrong) {
        for (Int k = 0; k < numbers_.total; ++k) wrong[k] = operands[k] != numbers_.first[k];
        const auto of = [this, phases = numbers_.phases.count](Int place) {
            return place < phases ? turned_[static_cast<std::size_t>(place)]
                                  : std::conj(turned_[static_cast<std::size_t>(place - phases)]);
        };
        numbers_.entries.write(of, made_.data());
        qx::form::Rounding together = qx::form::Rounding::of(tolerance, static_cast<double>(numbers_.total));
        for (Int k = 0; k < numbers_.num_varying; ++k) wrong[numbers_.varying[k]] = false;
        for (Int k = 0; k < numbers_.num_varying; ++k) {  // an operand may be there twice
            const Int at = numbers_.varying[k];
            const double off = std::abs(made_[static_cast<std::size_t>(k)] - operands[at]);
            wrong[at] |= !(off <= tolerance && together.take(off));
        }
    }
    void write(const double* angles, Complex* out) {
        const Numbers& n = numbers_;
        for (Int k = 0; k < n.num_constants; ++k) *out++ = n.constants[k];
        for (std::size_t k = 0; k < half_.size(); ++k) half_[k] = {std::cos(angles[k] / 2), std::sin(angles[k] / 2)};
        for (Int k = 0; k < n.num_entries; ++k) {
            const Complex half = half_[static_cast<std::size_t>(n.angle_of[k])];
            *out++ = half.real() * n.cos[k] + half.imag() * n.sin[k] + n.number[k];
        }
        const double last = angles[n.angles.count - 1];
        *out = {std::cos(last), std::sin(last)};
    }

  private:
    const Numbers& numbers_;
    std::vector<Complex> made_, turned_, half_;
};

}  // namespace

// For `count` bindings, whose operands [count, width] begin with the circuit's: the sums whose arguments are phases, the
// angles, whether each operand is not what it was taken to be [count, total], and the operands of the written circuit; wrong
// and out may be null.
QX_EXPORT(written_numbers, (const Numbers* numbers, double tolerance, Int count, Int width, const Complex* operands,
                            Complex* sums, double* angles, bool* wrong, Complex* out)) {
    return qx::guarded([&] {
        Binding binding(*numbers);
        for (Int k = 0; k < count; ++k, operands += width) {
            binding.turn(operands, sums);
            if (wrong) binding.unfit(operands, tolerance, wrong);
            if (wrong != nullptr) wrong += numbers->total;
            binding.angles(angles);
            if (out) binding.write(angles, out);
            if (out) out += numbers->num_constants + numbers->num_entries + 1;
            sums += numbers->phases.count;
            angles += numbers->angles.count;
        }
        return 0;
    });
}
