"""Auxiliary classifiers: registry, default set, cross-fitting, outputs on a common scale."""

from ._class_outputs import ClassCalibrator, ClassOutput, ClassTrainingSet, class_positions_of
from ._column_cross_fit import ColumnCrossFit, cross_fit_columns
from ._cross_fit import (
    Auxiliary,
    CrossFitResult,
    JobResult,
    JobRunner,
    TrainingJob,
    TrainingSet,
    cross_fit,
    rows_or_all,
)
from ._defaults import class_separation, default_auxiliary_names, to_dense, use_class_defaults
from ._label_outputs import (
    ConstantLabel,
    LabelColumnsOutput,
    LabelTrainingSet,
    LabelwiseClassifier,
    default_label_auxiliary_names,
    label_fold_codes,
    labelwise_auxiliary,
)
from ._outputs import (
    MAX_MARGIN,
    PROBABILITY_EPS,
    LabelOutput,
    OutputKind,
    OutputScale,
    RawOutput,
    ScoreOutput,
    apply_scales,
    is_frozen,
    positive_class_index,
)
from ._registry import auxiliary_names, check_auxiliary_name, make_auxiliaries
from ._validation import bind_sample_weight, name_auxiliaries, resolve_auxiliaries, set_random_states

__all__ = [
    "MAX_MARGIN",
    "PROBABILITY_EPS",
    "Auxiliary",
    "ClassCalibrator",
    "ClassOutput",
    "ClassTrainingSet",
    "ColumnCrossFit",
    "ConstantLabel",
    "CrossFitResult",
    "JobResult",
    "JobRunner",
    "LabelColumnsOutput",
    "LabelOutput",
    "LabelTrainingSet",
    "LabelwiseClassifier",
    "OutputKind",
    "OutputScale",
    "RawOutput",
    "ScoreOutput",
    "TrainingJob",
    "TrainingSet",
    "apply_scales",
    "auxiliary_names",
    "bind_sample_weight",
    "check_auxiliary_name",
    "class_positions_of",
    "class_separation",
    "cross_fit",
    "cross_fit_columns",
    "default_auxiliary_names",
    "default_label_auxiliary_names",
    "is_frozen",
    "label_fold_codes",
    "labelwise_auxiliary",
    "make_auxiliaries",
    "name_auxiliaries",
    "positive_class_index",
    "resolve_auxiliaries",
    "rows_or_all",
    "set_random_states",
    "to_dense",
    "use_class_defaults",
]
