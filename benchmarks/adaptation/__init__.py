"""Where a C above 0 pays, for which auxiliaries, delta functions and measures."""
