"""The devices that run circuits: the CPU and the GPU behind one protocol."""
