"""What the presets cost and lose, beside LightGBM."""
