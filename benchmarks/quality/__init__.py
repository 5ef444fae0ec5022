"""Quality: CAPOClassifier against threshold tuning, stacking and ensemble selection."""
