"""What placements that divide a state have in common."""
