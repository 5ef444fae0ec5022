"""Many classes and many labels: decision rules and end-to-end comparisons."""
