"""What users see besides results: logs, progress bars, the options in a class's help, and explanations in notebooks."""
