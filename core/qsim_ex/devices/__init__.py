"""Who works: the CPU and the GPU behind one protocol."""
