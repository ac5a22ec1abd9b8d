// The few functions of the C++ library that our containers call. They stand here so that the library needs libc alone,
// and nothing of a C++ library that another package in the process may have brought too.

#include <cstdlib>
#include <new>

// Memory that the system refuses ends the process: callers of this library ask for their large buffers themselves, and
// what is left are small tables.
void* operator new(std::size_t size) {
    void* found = std::malloc(size ? size : 1);
    if (!found) std::abort();
    return found;
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete[](void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, std::size_t) noexcept { std::free(pointer); }

#ifdef _LIBCPP_VERSION
namespace std::inline _LIBCPP_ABI_NAMESPACE {
[[noreturn]] void __libcpp_verbose_abort(const char*, ...) noexcept;
void __libcpp_verbose_abort(const char*, ...) noexcept { std::abort(); }
}
#endif
