"""From work to stages: the work that runs while some bits are far."""
