"""The way of `fit`, in its order: folds, auxiliaries, outputs, center, adaptation, the choice of C."""
