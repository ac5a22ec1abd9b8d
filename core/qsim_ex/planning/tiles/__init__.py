"""From work to sweeps: what runs while a tile is near."""
