// How a function is defined that the library shows to Python: QX_EXPORT(bits_flip, (const double* values, Int size)) { … }.
// Its row in exports.def says the kinds of its arguments; a definition that disagrees, or that has no row, does not compile.
//
// A kernel that depends on the width of vectors is compiled once for each instruction set; then QX_SET is the set's name
// and becomes the end of the function's name: qx_run_sweep_v3. qsim_ex.native.library picks the one for this processor.
#pragma once

#include <cstddef>
#include <type_traits>

#include "base/int.hpp"

namespace qx::python {
struct Object;
}

namespace qx::exports {

// The letters of exports.def for each function, by its name.
#define QX_FUNCTION(name, kinds, ...) inline constexpr char name[] = #kinds;
#define QX_OBJECTS(name, kinds, ...) inline constexpr char name[] = #kinds;
#define QX_KERNEL(name, kinds, ...) inline constexpr char name##_of_each_set[] = #kinds;
#include "exports.def"
#undef QX_FUNCTION
#undef QX_OBJECTS
#undef QX_KERNEL

template <class Argument>
consteval char kind() {
    if constexpr (std::is_same_v<Argument, python::Object*>) return 'o';
    else if constexpr (std::is_pointer_v<Argument>) return 'p';
    else if constexpr (std::is_same_v<Argument, Int>) return 'i';
    else if constexpr (std::is_same_v<Argument, double>) return 'd';
    else return '?';
}

template <std::size_t size, class... Arguments>
consteval bool fits(Int (*)(Arguments...), const char (&kinds)[size]) {
    std::size_t at = 0;
    return size == sizeof...(Arguments) + 1 && (... && (kinds[at++] == kind<Arguments>()));
}

}

#define QX_JOIN_(a, b) a##_##b
#define QX_JOIN(a, b) QX_JOIN_(a, b)
#define QX_DEFINE(name, parameters, kinds)                                                      \
    extern "C" __attribute__((visibility("default"))) qx::Int name parameters;                  \
    static_assert(qx::exports::fits(&name, qx::exports::kinds), "it differs from exports.def"); \
    qx::Int name parameters

// QX_EXPORT: a function that exists once. QX_EXPORT_SET: one that each set has.
#define QX_EXPORT(name, parameters) QX_DEFINE(QX_JOIN(qx, name), parameters, name)
#ifdef QX_SET
#define QX_EXPORT_SET(name, parameters) QX_DEFINE(QX_JOIN(QX_JOIN(qx, name), QX_SET), parameters, name##_of_each_set)
#endif
