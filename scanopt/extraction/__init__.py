"""The cheapest program in an e-graph: the cost model, the choice as a problem, and its solvers."""
