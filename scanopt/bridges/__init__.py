"""Bridges to other libraries: read their programs into graphs, and write optimized programs in their formats."""
