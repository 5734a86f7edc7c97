"""Random numbers: Philox by key, samplers, and the functions and streams that users call."""
