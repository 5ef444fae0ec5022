"""The choice of C with few positive rows."""
