"""The e-graph: programs as terms, the engine and its rules, saturation, and reading classes back."""
