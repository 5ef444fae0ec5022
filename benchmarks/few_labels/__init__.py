"""A model from elsewhere and few labels: the old model, models of the new rows, and both together."""
