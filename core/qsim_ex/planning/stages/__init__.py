"""From work to stages: what runs while some bits are far."""
