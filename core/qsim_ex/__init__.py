"""An open GPU engine for quantum state vectors."""
