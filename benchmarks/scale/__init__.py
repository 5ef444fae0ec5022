"""Fits on Dask: agreement with fits in memory, bytes sent, lost workers, growth."""
