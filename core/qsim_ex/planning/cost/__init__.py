"""What a plan costs, counted and not measured."""
