from sklearn.utils.estimator_checks import parametrize_with_checks

from capo import SVMPerfClassifier


@parametrize_with_checks([SVMPerfClassifier(), SVMPerfClassifier("roc_auc", C=100)])
def test_sklearn(estimator, check):
    check(estimator)
