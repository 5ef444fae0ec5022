"""Prices of each row: savings in money by one threshold, weighted examples and a threshold for each row."""
