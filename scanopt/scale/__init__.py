"""Functions on many machines: finds axes along which they are independent, divides lanes and time, checkpoints."""
