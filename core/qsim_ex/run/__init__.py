"""The one pipeline: assign → plan → prepare → traverse → observe, for one circuit or many bindings of it."""
