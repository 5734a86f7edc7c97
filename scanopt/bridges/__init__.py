"""Bridges to other libraries: their programs are read into graphs, and optimized programs written as theirs."""
