"""What is asked of any state at the end: shots, expectation values, bits as they are read."""
