"""From work to sweeps: the work that runs while a tile is near."""
