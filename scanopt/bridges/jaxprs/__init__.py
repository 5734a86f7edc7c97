"""JAX: jaxprs read into graphs, optimized programs written as functions of JAX."""
