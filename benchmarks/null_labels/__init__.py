"""Out-of-fold values where there is nothing to learn: labels that are independent of the table."""
