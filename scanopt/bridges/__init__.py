"""Bridges to other libraries: their programs read into graphs, optimized programs written as theirs."""
