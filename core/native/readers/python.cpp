// Takes the addresses of the functions of Python's stable ABI.

#include "readers/python.hpp"

#include <cstring>

#include "base/export.hpp"
#include "base/interned.hpp"

QX_EXPORT(python_functions, (const qx::Int* addresses)) {
    std::memcpy(&qx::python::call, addresses, sizeof qx::python::call);
    return 0;
}

// Numbers the distinct objects of a list, by their addresses; writes the number of each object and where each distinct one
// comes first. Returns how many are distinct.
QX_EXPORT(objects_number, (qx::python::Object* list, qx::Int size, qx::plan::Index* numbers, qx::Int* first)) {
    return qx::guarded([&] {
        qx::plan::Memo known;
        qx::plan::Index count = 0;
        for (qx::Int k = 0; k < size; ++k) {
            qx::plan::Index& number = known[reinterpret_cast<std::uint64_t>(qx::python::call.list_item(list, k))];
            if (number == qx::plan::Memo::none) {
                first[count] = k;
                number = count++;
            }
            numbers[k] = number;
        }
        return count;
    });
}
