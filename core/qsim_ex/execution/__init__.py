"""What stands between a plan and the amplitudes: plans found again, work prepared, progress told, checkpoints kept."""
