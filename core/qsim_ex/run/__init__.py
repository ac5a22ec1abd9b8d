"""The pipeline of every run: assign → plan → prepare → traverse → observe, for one circuit or many bindings of it."""
