"""The wide generator: programs of all dtypes and memory layouts, whose operators may raise.

spec = generate(7)          # plain data, as of `random_programs.generate`

What lines come to is not told by rules: each text is evaluated on examples by `corpus.plain` while the program is
made, at the top on the very values of the inputs, in a step on those of its first one.
"""
