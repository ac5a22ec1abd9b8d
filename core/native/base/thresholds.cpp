#include "base/thresholds.hpp"

#include "base/export.hpp"

namespace qx {

Thresholds thresholds{};

}  // namespace qx

// Takes all numbers, in the order of `Rewriting` in qsim_ex.circuit.thresholds.
QX_EXPORT(thresholds_set, (const qx::Thresholds* numbers)) {
    qx::thresholds = *numbers;
    return 0;
}
