"""Functions over many machines: which axes they are independent along, chunks of lanes and of time, checkpoints."""
