#include "base/thresholds.hpp"

#include "base/export.hpp"

namespace qx {

Thresholds thresholds;

}  // namespace qx

// Takes all numbers, in the order of `Native` in qsim_ex.native.thresholds.
QX_EXPORT(thresholds_set, (const qx::Int* numbers)) {
#define QX_ROW(name) qx::thresholds.name = *numbers++;
    QX_THRESHOLDS(QX_ROW)
#undef QX_ROW
    return 0;
}

// Gives the sides on which each number was met since the last call, as bits: 1 within, 2 beyond.
QX_EXPORT(thresholds_met, (unsigned char* sides)) {
#define QX_ROW(name) *sides++ = qx::thresholds.name.sides(), qx::thresholds.name.forget();
    QX_THRESHOLDS(QX_ROW)
#undef QX_ROW
    return 0;
}
