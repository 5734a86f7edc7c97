"""Text, pictures, networkx graphs and reports of graphs, programs and e-graphs."""
