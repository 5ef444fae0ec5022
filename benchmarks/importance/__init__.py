"""Does importance find the columns that matter, and do its intervals cover? Simulated tables."""
