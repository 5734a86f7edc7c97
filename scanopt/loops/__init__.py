"""Symbolic loops: scan and its relatives, and the Scan node with its named slots."""
