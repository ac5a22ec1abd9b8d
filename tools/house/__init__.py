"""The numbers that the source keeps: ``python -m tools.house`` prints them, and fails where one is not kept.

A rule is a function from parsed sources to a `Rule`: its number, its goal and where the source breaks it. `shape`
counts modules, layers and lines. `imports` finds circles of imports and imports inside of functions, `kinds` towers of
inheritance and types that are `Any`. `names` and `once` find what stands twice. `placements` finds questions about
placements outside their room, `precisions` whoever tells precisions apart, and `tables` columns that nobody reads.
`words` reads strings, docstrings and annotations, `rooms` what native code includes, and `pages` the links of pages
and what notebooks and examples have to tell. `measured` has the rules that run something.
"""
