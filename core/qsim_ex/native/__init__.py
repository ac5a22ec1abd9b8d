"""The compiled part of the engine: C++ from core/native, called through ctypes. An import of it loads nothing."""
