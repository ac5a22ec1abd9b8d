// What sources that are no kernels are compiled behind, read once for all of them; see HEADERS in tools/native.py.
// Each includes what it needs all the same: clang-tidy and other compilers read it without this file.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>
