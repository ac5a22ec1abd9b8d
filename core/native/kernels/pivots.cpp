// Pivots among values that Python has gathered; `enqueue` does the same for the launches of a whole plan.

#include "kernels/pivots.hpp"

#include "base/export.hpp"

// Changes gathered values in place. records: so many words, see pivots.hpp.
QX_EXPORT(pivots, (double* values, const std::int32_t* records, qx::Int words)) {
    qx::pivot([&](int k) { return values[k]; }, values, records, records + words);
    return 0;
}
