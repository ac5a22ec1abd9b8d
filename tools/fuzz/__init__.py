"""A fuzzer: draws circuits and options, and compares what the product makes of them with independent oracles.

``python -m tools.fuzz --count 1000``; docs/fuzzing.md says what is drawn and how a failure is repeated.
"""
