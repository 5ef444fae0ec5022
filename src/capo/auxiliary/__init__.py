"""Auxiliary classifiers: registry, default set, cross-fitting, outputs on a common scale."""
# Imports from `guarantees`, `model_selection`, `preprocessing`, `prices` and the layers below.

from ._block_outputs import count_numbers, iter_row_blocks, iter_tree_blocks, predict_block
from ._budget import BudgetChoice, choose_within_budget
from ._class_outputs import ClassCalibrator, ClassOutput, class_positions_of
from ._cross_fit import (
    MODEL_PROGRESS,
    Auxiliary,
    CrossFitResult,
    JobResult,
    JobRunner,
    RepeatOutputs,
    TrainingJob,
    cross_fit,
    rows_or_all,
)
from ._defaults import class_separation, to_dense
from ._label_outputs import (
    ConstantLabel,
    LabelColumnsOutput,
    LabelwiseClassifier,
    label_fold_codes,
    labelwise_auxiliary,
)
from ._outputs import (
    CERTAIN_LOG_ODDS,
    CERTAIN_LOG_ODDS_TOL,
    MAX_MARGIN,
    PROBABILITY_EPS,
    LabelOutput,
    OutputKind,
    OutputScale,
    RawOutput,
    ScoreOutput,
    apply_scales,
    is_frozen,
    mean_scale,
    positive_class_index,
)
from ._registry import auxiliary_names, check_auxiliary_name, make_auxiliaries
from ._sets import (
    AUXILIARY_SETS,
    default_auxiliary_names,
    default_n_folds,
    is_fast_set,
    label_auxiliary_names,
    use_class_defaults,
    use_label_defaults,
)
from ._training_set import TrainingSet
from ._validation import bind_sample_weight, name_auxiliaries, resolve_auxiliaries, set_random_states

__all__ = [
    "AUXILIARY_SETS",
    "CERTAIN_LOG_ODDS",
    "CERTAIN_LOG_ODDS_TOL",
    "MAX_MARGIN",
    "MODEL_PROGRESS",
    "PROBABILITY_EPS",
    "Auxiliary",
    "BudgetChoice",
    "ClassCalibrator",
    "ClassOutput",
    "ConstantLabel",
    "CrossFitResult",
    "JobResult",
    "JobRunner",
    "LabelColumnsOutput",
    "LabelOutput",
    "LabelwiseClassifier",
    "OutputKind",
    "OutputScale",
    "RawOutput",
    "RepeatOutputs",
    "ScoreOutput",
    "TrainingJob",
    "TrainingSet",
    "apply_scales",
    "auxiliary_names",
    "bind_sample_weight",
    "check_auxiliary_name",
    "choose_within_budget",
    "class_positions_of",
    "class_separation",
    "count_numbers",
    "cross_fit",
    "default_auxiliary_names",
    "default_n_folds",
    "is_fast_set",
    "is_frozen",
    "iter_row_blocks",
    "iter_tree_blocks",
    "label_auxiliary_names",
    "label_fold_codes",
    "labelwise_auxiliary",
    "make_auxiliaries",
    "mean_scale",
    "name_auxiliaries",
    "positive_class_index",
    "predict_block",
    "resolve_auxiliaries",
    "rows_or_all",
    "set_random_states",
    "to_dense",
    "use_class_defaults",
    "use_label_defaults",
]
