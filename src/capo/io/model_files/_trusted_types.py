"""Which types a model file may hold: those known here to do nothing on opening but to be there.

A file names the types of its parts. scikit-learn's own are known to skops; the lists here add capo's and
what its default auxiliaries are made of. Any other is refused unless the user names it.
"""

from __future__ import annotations

_CAPO = {
    "adaptation._scores": ("CVScore",),
    "adaptation._problem": ("LinearCombination", "Settings"),
    "auxiliary._defaults": ("class_separation", "to_dense"),
    "auxiliary._outputs": ("OutputScale",),
    "model_selection._calibration": ("PlattCalibrator",),
    "estimators._capo": ("CAPOClassifier",),
    "engine._solution": ("Round", "Solution"),
    "preprocessing._encoders": ("DropEmptyColumns", "KnownCategoryFilter"),
    "preprocessing._features": ("clip_standardized",),
    "kernels._expansion": ("KernelExpansion",),
    "kernels._functions": ("Kernel",),
    "measures._at_k": ("LiftAtK", "PRBEP", "PrecisionAtK", "RecallAtK"),
    "measures._constrained": ("PrecisionAtRecall", "RecallAtPrecision", "TprAtFpr"),
    "measures._contingency": ("CohenKappa", "F1", "FBeta", "GMean", "Jaccard", "KLD", "MCC", "QMeasure"),
    "measures._linear": ("Accuracy", "BalancedAccuracy", "Cost", "Youden"),
    "measures._formula": ("Formula",),
    "measures._function": ("FunctionMeasure",),
    "measures._ranking": ("AveragePrecision", "PartialAUC", "RocAUC"),
    "baselines._c45._classifier": ("C45Classifier",),
    "baselines._c45._tree": ("Tree",),
    "baselines._core_vector_machine": ("CoreVectorMachine",),
    "baselines._cost_svm": ("CostSVMClassifier",),
    "baselines._rbf_network": ("RBFNetworkClassifier",),
    "estimators._svmperf": ("SVMPerfClassifier",),
    "estimators._svmperf_cv": ("SVMPerfClassifierCV",),
}
_OTHERS = (
    "collections.OrderedDict",
    "functools.partial",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
    "sklearn.utils.validation.check_array",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
)

KNOWN = frozenset(f"capo.{module}.{name}" for module, names in _CAPO.items() for name in names) | set(_OTHERS)
