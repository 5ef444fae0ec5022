"""Decision rules: from the probabilities of K classes to a label.

A rule is a gain matrix G: ``G[j, k]`` is the gain of predicting class k for a row of class j, and a row with
the probabilities p gets the label ``argmax_k (p' G)_k``, the one with the largest expected gain. The identity
is the most probable class. Measures of single classes, such as the macro-averaged F1, have rules of the form
``argmax_k (a_k p_k - b_k)``, which is the gain matrix ``diag(a) - 1 b'``, since probabilities sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from .._typing import FloatArray, IntArray


@dataclass(frozen=True)
class DecisionRule:
    """Predict the class with the largest expected gain.

    Attributes
    ----------
    gain : ndarray of shape (n_classes, n_classes)
        The gain for each true class (rows) and predicted class (columns).

    Examples
    --------
    >>> import numpy as np
    >>> from capo.multiclass import DecisionRule
    >>> rule = DecisionRule.from_multipliers(np.array([1.0, 1.0, 3.0]))
    >>> rule.predict(np.array([[0.5, 0.3, 0.2], [0.6, 0.3, 0.1]]))
    array([2, 0])
    """

    gain: FloatArray

    @classmethod
    def most_probable(cls, n_classes: int) -> DecisionRule:
        """Return the rule that predicts the most probable class."""
        return cls(np.eye(n_classes))

    @classmethod
    def from_multipliers(cls, multipliers: FloatArray, offsets: FloatArray | None = None) -> DecisionRule:
        """Return the rule ``argmax_k (multipliers[k] p_k - offsets[k])``."""
        gain = np.diag(np.asarray(multipliers, dtype=np.float64))
        return cls(gain if offsets is None else gain - offsets)

    def decision(self, probabilities: FloatArray) -> FloatArray:
        """Return the expected gain of each class for each row."""
        return np.asarray(probabilities @ self.gain)

    def predict(self, probabilities: FloatArray) -> IntArray:
        """Return the position of the class with the largest expected gain; the first one of several."""
        return np.asarray(self.decision(probabilities).argmax(axis=1))

    @property
    def is_most_probable(self) -> bool:
        """Whether the rule predicts the most probable class."""
        return bool(np.array_equal(self.gain, np.eye(len(self.gain))))

    @property
    def multipliers_and_offsets(self) -> tuple[FloatArray, FloatArray] | None:
        """The numbers a and b of ``argmax_k (a_k p_k - b_k)``; None for a rule of another form."""
        n_classes = len(self.gain)
        offsets = -self.gain[np.arange(1, n_classes + 1) % n_classes, np.arange(n_classes)]
        multipliers = np.diag(self.gain) + offsets
        scale = np.abs(self.gain).max()
        same = np.allclose(self.gain, np.diag(multipliers) - offsets, rtol=0.0, atol=1e-12 * scale)
        return (multipliers, offsets) if same else None

    def normalize(self) -> DecisionRule:
        """Return the same rule on the scale where the gains of a true class differ by at most 1."""
        spread = float(np.ptp(self.gain, axis=1).max())
        return DecisionRule(self.gain / spread) if spread > 0 else self


@dataclass(frozen=True)
class ExpectedRows:
    """Rows whose labels are known as probabilities: row i counts as ``p_ij`` of a row of class j.

    Attributes
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes.
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows.
    """

    probabilities: FloatArray
    weight: FloatArray | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.probabilities.shape[1])

    @cached_property
    def mass(self) -> FloatArray:
        """The expected mass of each class in each row."""
        return self.probabilities if self.weight is None else self.probabilities * self.weight[:, None]

    @cached_property
    def true_mass(self) -> FloatArray:
        """The expected mass of each class: the row sums of every confusion matrix of these rows."""
        return np.asarray(self.mass.sum(axis=0))

    @cached_property
    def row_mass(self) -> FloatArray:
        """The weight of each row, 1 without weights."""
        return np.ones(len(self.probabilities)) if self.weight is None else self.weight

    def confusion(self, labels: IntArray) -> FloatArray:
        """Return the expected confusion matrix of a labeling: true classes in rows, predicted in columns."""
        n_rows = len(labels)
        columns = csr_array((np.ones(n_rows), labels, np.arange(n_rows + 1)), shape=(n_rows, self.n_classes))
        return np.asarray((columns.T @ self.mass).T)

    def sample(self, n_rows: int) -> ExpectedRows:
        """Return evenly spaced rows, at most `n_rows` of them."""
        step = -(-len(self.probabilities) // n_rows)
        if step <= 1:
            return self
        weight = None if self.weight is None else self.weight[::step]
        return ExpectedRows(self.probabilities[::step], weight)


def confusion_matrix(
    codes: IntArray, labels: IntArray, n_classes: int, weight: FloatArray | None = None
) -> FloatArray:
    """Return the confusion matrix of a labeling: true classes in rows, predicted classes in columns."""
    cells = np.bincount(codes * n_classes + labels, weights=weight, minlength=n_classes**2)
    return cells.reshape(n_classes, n_classes).astype(np.float64)
