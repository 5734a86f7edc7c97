"""PyTensor: reads its graphs, with their Scan nodes, into ours; a PyTensor mode that compiles with scanopt."""
