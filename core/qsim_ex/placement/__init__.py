"""Where amplitudes live."""
