"""The placements of a state: on one device, on several devices, in host memory, or both."""
