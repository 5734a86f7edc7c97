"""PyTensor: its graphs, with their Scan nodes, read into ours; a mode that compiles its functions here."""
