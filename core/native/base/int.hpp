// The integers of all tables and of all functions that Python calls.
#pragma once

#include <cstdint>

namespace qx {
using Int = std::int64_t;
}
