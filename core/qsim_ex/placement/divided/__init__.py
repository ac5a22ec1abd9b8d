"""The common part of placements that divide a state."""
