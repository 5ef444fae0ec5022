"""Promises: thresholds that keep a constraint with a stated confidence, against MAPIE and a naive cut."""
