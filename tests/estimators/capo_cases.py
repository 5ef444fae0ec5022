"""Data and light auxiliaries for the tests of CAPOClassifier."""

from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier

X, Y = load_breast_cancer(return_X_y=True)
NOISY = make_classification(600, n_features=8, n_informative=4, weights=[0.8], flip_y=0.1, random_state=0)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())
LIGHT = [("linear", LINEAR), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))]


def light(measure="f1", **params):
    return CAPOClassifier(measure, auxiliaries=LIGHT, **{"cv": 3, "random_state": 0, **params})
