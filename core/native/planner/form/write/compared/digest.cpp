// One number of all that a writer has written, which tells manners that have written the same.

#include <bit>

#include "base/export.hpp"
#include "base/interned.hpp"
#include "base/owned.hpp"
#include "planner/form/write/writer.hpp"

namespace qx::form {
namespace {

class Digest {
  public:
    void add(std::uint64_t number) { found_ = plan::mixed(found_ + 0x9e3779b97f4a7c15ull ^ number); }
    void add(double number) { add(std::bit_cast<std::uint64_t>(number)); }
    void add(const Writer& of, const Angle& angle) {
        add(angle.value);
        of.multiples(angle, [&](Index phase, double by) { add(std::uint64_t{phase}), add(by); });
    }
    std::uint64_t found() const { return found_; }

  private:
    std::uint64_t found_ = 0;
};

std::uint64_t digest_of(const Writer& of) {
    Digest out;
    for (const Gate& gate : of.gates) {
        out.add(static_cast<std::uint64_t>(gate.kind) | std::uint64_t{gate.num_conditions} << 32);
        out.add(static_cast<std::uint64_t>(gate.wire)), out.add(gate.mask), out.add(of, gate.angle);
    }
    out.add(std::uint64_t{of.last}), out.add(of, of.phase);
    for (const Condition& one : of.conditions) out.add(one.parity), out.add(std::uint64_t{one.value});
    for (const Complex& one : of.entries) out.add(one.real()), out.add(one.imag());
    return out.found();
}

}  // namespace
}  // namespace qx::form

// Returns a number that two writers of one form have in common if all that they have written is the same, and hardly else.
QX_EXPORT(writer_digest, (qx::Int writer)) {
    return qx::guarded(
        [&] { return static_cast<qx::Int>(qx::form::digest_of(qx::Owned<qx::form::Writer>::at(writer)) >> 1); });
}
