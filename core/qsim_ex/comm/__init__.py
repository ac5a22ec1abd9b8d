"""Communication between ranks that share a state."""
