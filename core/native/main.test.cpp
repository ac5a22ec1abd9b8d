// The program of all tests: they stand beside what they test, and python -m tools.native --test runs them.

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest.h>

#include "thresholds/table.hpp"

namespace {

// Python tells the library its numbers; here they stand for it. Tests that want others set them for a while.
const bool told = [] {
    const std::int64_t numbers[] = {QX_NUMBERS};  // of qsim_ex.native.thresholds
    const std::int64_t* at = numbers;
#define QX_ROW(name) qx::thresholds.name = *at++;
    QX_THRESHOLDS(QX_ROW)
#undef QX_ROW
    return true;
}();

}  // namespace
