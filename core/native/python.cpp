// Takes the addresses of the functions of Python's stable ABI.

#include "python.hpp"

#include <cstring>

QX_EXPORT(python_functions)(const qx::Int* addresses) {
    std::memcpy(&qx::python::call, addresses, sizeof qx::python::call);
    return 0;
}
