#include "base/thresholds.hpp"

#include "base/export.hpp"

namespace qx {

Thresholds thresholds{};

}  // namespace qx

// Takes all numbers, in the order of `Native` in qsim_ex.thresholds.rows.
QX_EXPORT(thresholds_set, (const qx::Thresholds* numbers)) {
    qx::thresholds = *numbers;
    return 0;
}
