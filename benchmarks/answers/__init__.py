"""A service's answers and embeddings of texts beside a few labels: capo and rivals."""
