// The numbers of Python objects that come again and again.
#pragma once

#include "base/interned.hpp"
#include "readers/python.hpp"

namespace qx::plan {

// Numbers by the addresses of objects, which whoever uses it keeps.
class Known {
  public:
    template <class Read>
    Index operator()(python::Object* object, Read read) {
        Index& known = numbers_[reinterpret_cast<std::uint64_t>(object)];
        if (known == Memo::none) known = read(object);
        return known;
    }

  private:
    Memo numbers_;
};

}  // namespace qx::plan
