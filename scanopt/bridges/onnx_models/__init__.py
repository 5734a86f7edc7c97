"""ONNX: models read into graphs, optimized programs written as models."""
