"""What is written out of a circuit in its place: gates that do the same, whatever basis the circuit was written in."""
