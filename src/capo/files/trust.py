"""Which types a model file may hold: those known here to do nothing on opening but to be there.

A file names the types of its parts. scikit-learn's own are known to skops; the lists here add capo's and
what its default auxiliaries are made of. Any other is refused unless the user names it.
"""

from __future__ import annotations

_CAPO = {
    "adaptation.figures": ("Figure",),
    "adaptation.problem": ("Settings", "Weights"),
    "auxiliary.auto": ("_dense_rows", "class_separation"),
    "auxiliary.outputs": ("Scale",),
    "calibration": ("Platt",),
    "classifier": ("CAPOClassifier",),
    "engine.solution": ("Round", "Solution"),
    "features": ("KnownValues", "WithValues", "cut_off"),
    "kernels.expansion": ("Expansion",),
    "kernels.functions": ("Kernel",),
    "measures.at_k": ("LiftAtK", "PRBEP", "PrecisionAtK", "RecallAtK"),
    "measures.constrained": ("PrecisionAtRecall", "RecallAtPrecision", "TprAtFpr"),
    "measures.contingency": ("CohenKappa", "F1", "FBeta", "GMean", "Jaccard", "KLD", "MCC", "QMeasure"),
    "measures.errors": ("Accuracy", "BalancedAccuracy", "Cost", "Youden"),
    "measures.formula": ("Formula",),
    "measures.function": ("FunctionMeasure",),
    "measures.ranking": ("AveragePrecision", "PartialAUC", "RocAUC"),
    "rivals.c45.classifier": ("C45Classifier",),
    "rivals.c45.tree": ("Tree",),
    "rivals.core_vector_machine": ("CoreVectorMachine",),
    "rivals.cost_svm": ("CostSVMClassifier",),
    "rivals.rbf_network": ("RBFNetworkClassifier",),
    "svmperf": ("SVMPerfClassifier",),
    "svmperf_cv": ("SVMPerfClassifierCV",),
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
