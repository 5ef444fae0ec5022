"""Files made to do harm: each is refused with a sentence, and opening it does nothing else."""

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier

import capo
from capo import CAPOClassifier
from capo.tables.features import DropEmptyColumns

from .archives import pack, read_parts, with_sums

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits memory through /proc")

SCRIPT = Path(__file__).with_name("open_audited.py")
FIFO = "fifo"


def node(loader, module, name, **content):
    return {"__loader__": loader, "__module__": module, "__class__": name, "__id__": 1, **content}


def text(value):
    return node("JsonNode", "builtins", "str", content=json.dumps(value), is_json=True)


def values(loader, module, name, *items):
    return node(loader, module, name, content=list(items))


def names_of_keys(*kinds):
    return values("ListNode", "builtins", "list", *kinds)


def skops_document(root, protocol=2, **parts):
    return pack({"schema.json": json.dumps({**root, "protocol": protocol}).encode(), **parts})


def npy(header):
    head = header.encode()
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head


class Corpus:
    """Variations of one good file; each method call adds one, with a part of the sentence expected."""

    def __init__(self, good, folder):
        self.parts, self.folder = read_parts(good), folder
        self.state = json.loads(self.parts["state.json"])
        self.cases = {}

    def raw(self, name, sentence, data):
        path = self.folder / f"{name}.capo"
        path.write_bytes(data)
        self.cases[str(path)] = sentence

    def changed(self, name, sentence, **changes):
        parts = {**self.parts, **changes}
        self.raw(name, sentence, pack(with_sums(parts)))

    def member(self, name, sentence, ending, data):
        member = next(key for key in self.parts if key.endswith(ending))
        self.changed(name, sentence, **{member: data})

    def model(self, name, sentence, value, objects=()):
        state = json.dumps({"model": value, "objects": list(objects)})
        self.changed(name, sentence, **{"state.json": state.encode()})

    def object(self, name, sentence, value, **parts):
        state = json.dumps({"model": {"object": 0}, "objects": [value]})
        self.changed(name, sentence, **{"state.json": state.encode()}, **parts)

    def skops(self, name, sentence, root, **options):
        self.member(name, sentence, ".skops", skops_document(root, **options))


def add_skops_cases(corpus, fifo):
    unknown = "types that are not known to be safe: "
    arguments = values("TupleNode", "builtins", "tuple", text(None), text(None), text(str(fifo)))
    for package, module in (("lightgbm", "lightgbm.basic"), ("xgboost", "xgboost.core")):
        for loader in ("ConstructorFromReduceNode", "ListNode", "SetNode", "ObjectNode", "LossNode"):
            extra = {"__reduce__": {"args": arguments}}
            content = [text(str(fifo))] if loader in ("ListNode", "SetNode") else arguments
            root = node(loader, module, "Booster", content=content, **extra)
            corpus.skops(f"{package}-{loader}", unknown + f"{module}.Booster", root)
    check = ("sklearn.utils.validation", "check_array")
    function = node("FunctionNode", *check)
    keys = node("DictNode", "builtins", "dict", content={"a": text(1)}, key_types=names_of_keys(function))
    corpus.skops("function-as-key-type", "malformed types of keys", keys)
    called = node(
        "DictNode",
        "builtins",
        "dict",
        content={"a": text(1)},
        key_types=names_of_keys(node("TypeNode", *check)),
    )
    corpus.skops("type-as-key-type", unknown + "sklearn.utils.validation.check_array", called)
    alias = node("DictNode", "builtins", "dict", content={"a": text(1)}, key_types={**text([]), "__id__": 9})
    corpus.skops("key-types-by-id", "malformed types of keys", alias)
    corpus.skops("function-called", unknown + ".".join(check), values("ListNode", *check, text("x")))
    corpus.skops("command", unknown + r"os\.system", node("FunctionNode", "os", "system"))
    corpus.skops("import", unknown + r"antigravity\.x", node("TypeNode", "antigravity", "x"))
    corpus.skops("estimator-called", unknown, values("ListNode", "sklearn.pipeline", "Pipeline", text(1)))
    corpus.skops(
        "partial",
        unknown + "functools.partial",
        node(
            "PartialNode",
            "functools",
            "partial",
            content={
                "func": node("TypeNode", "builtins", "map"),
                "args": text([]),
                "kwds": text({}),
                "namespace": text(None),
            },
        ),
    )
    corpus.skops(
        "tree",
        unknown + r"sklearn\.tree\._tree\.Tree",
        node("TreeNode", "sklearn.tree._tree", "Tree", content=text({}), __reduce__={"args": text([])}),
    )
    corpus.skops(
        "method",
        unknown,
        node(
            "MethodNode",
            "sklearn.svm._classes",
            "SVC",
            content={"func": "fit", "obj": node("ObjectNode", "sklearn.svm._classes", "SVC")},
        ),
    )
    corpus.skops("loader-unknown", "cannot be opened", node("EvalNode", "builtins", "str"))
    corpus.skops("nameless", "a type without a name", node("ListNode", None, None))
    # Any refusal, which names the file: releases of skops differ in the reason.
    corpus.skops("cached", "cached.capo", node("CachedNode", "builtins", "str"))
    for protocol in (0, 1, -1, True, None, "2"):
        corpus.skops(f"protocol-{protocol}", "a skops document of protocol", text(1), protocol=protocol)
    deep = text(1)
    for _ in range(300):
        deep = values("ListNode", "builtins", "list", deep)
    corpus.skops("deep-skops", "nested more than 200 levels deep", deep)
    array = node("NdArrayNode", "numpy", "ndarray", type="numpy", file="1.npy")
    lie = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }")
    corpus.skops("array-lie", "bytes of data", array, **{"1.npy": lie})
    corpus.skops(
        "array-pickled",
        "values of type object",
        array,
        **{"1.npy": npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }")},
    )
    corpus.skops("array-npz", "unknown part", array, **{"1.npz": b""})
    corpus.member("inner-bomb", "would unpack", ".skops", pack({"schema.json": bytes(10**8)}))
    corpus.member("inner-damage", "cannot be opened", ".skops", b"PK\x03\x04 nothing")


def add_state_cases(corpus, fifo):
    refused = "cannot be opened"
    corpus.model("tag-unknown", "the kind 'pickle' are not known", {"pickle": "x"})
    corpus.model("two-tags", "described by 2 keys", {"tuple": [], "set": []})
    corpus.model("empty-node", "described by 0 keys", {})
    corpus.model("plain-model", "describes a CAPOClassifier, but contains a int", 5)
    corpus.model("cycle", "object 0 contains itself", {"object": 0}, [{"tuple": [{"object": 0}]}])
    corpus.model("cycle-of-two", "contains itself", {"object": 0}, [[{"object": 1}], [{"object": 0}]])
    for number in (-1, 99, "0", None, True, 0.5, [0]):
        corpus.model(f"object-{number}", "there is no object", {"object": number})
    for tag in (
        "tuple",
        "set",
        "dict",
        "slice",
        "bytes",
        "scalar",
        "dtype",
        "array",
        "object_array",
        "enum",
        "function",
        "formula",
        "function_measure",
        "measure",
        "record",
        "estimator",
        "tree",
        "predictor",
        "loss",
        "bunch",
        "type",
        "booster",
        "generator",
        "sparse",
        "float",
    ):
        for label, content in (
            ("number", 5),
            ("null", None),
            ("text", "x"),
            ("list", [1]),
            ("pairs", {"a": 1}),
        ):
            corpus.model(f"{tag}-{label}", "", {tag: content})
    corpus.model("measure-unknown", "there is no measure", {"measure": ["eval", {"dict": []}]})
    corpus.model("measure-parameter", refused, {"measure": ["f1", {"dict": [["x", 1]]}]})
    corpus.model("formula-code", refused, {"formula": "__import__('os').system('true')"})
    corpus.model("formula-long", refused, {"formula": "(" * 10**6})
    corpus.model("class-unknown", "is not known", {"estimator": ["os.system", {}, {}]})
    corpus.model("parameter-unknown", "has no parameter 'x'", {"estimator": ["CAPOClassifier", {"x": 1}, {}]})
    for name in ("predict", "__class__", "__dict__", "a b", ""):
        fitted = {"estimator": ["CAPOClassifier", {"measure": "f1"}, {name: 1}]}
        corpus.model(f"attribute-{name or 'empty'}", "has no fitted attribute", fitted)
    corpus.model("record-field", "has no parameter", {"record": ["Solution", {"x": 1}]})
    corpus.model("record-incomplete", refused, {"record": ["Solution", {}]})
    corpus.model("record-unknown", "is not known", {"record": ["Popen", {"args": "true"}]})
    environment = {"record": ["CAPOClassifier", {"memory": "cache"}]}
    corpus.model("record-of-own-estimator", "is not made from fields", environment)
    corpus.model(
        "record-of-estimator",
        "is not made from fields",
        {"record": ["sklearn.pipeline.Pipeline", {"predict": 1}]},
    )
    corpus.model(
        "record-method",
        "has no fitted attribute 'split'",
        {"record": ["sklearn.model_selection.KFold", {"split": 1}]},
    )
    corpus.model("estimator-of-record", "is not known", {"estimator": ["Solution", {}, {}]})
    corpus.model("estimator-private", "is not known", {"estimator": ["_Task", {}, {}]})
    corpus.model("enum-of-record", "is not known", {"enum": ["Solution", "OPTIMAL"]})
    for name in ("sklearn.datasets.load_files", "sklearn.svm.l1_min_c", "sklearn.svm.os", "os.path"):
        corpus.model(f"estimator-{name}", "is not known", {"estimator": [name, {}, {}]})
    corpus.model("function-unknown", "is not known", {"function": ["system", {"dict": []}]})
    corpus.model("loss-unknown", "is not known", {"loss": ["Popen", 2]})
    for name in ("fit", "predict", "__class__", "steps"):
        fitted = {"estimator": ["sklearn.pipeline.Pipeline", {"steps": []}, {name: 1}]}
        corpus.model(f"pipeline-{name}", "has no fitted attribute", fitted)
    corpus.model(
        "pipeline-field", "has no parameter", {"estimator": ["sklearn.pipeline.Pipeline", {"x": 1}, {}]}
    )
    corpus.model("generator-unknown", refused, {"generator": ["seed", {"dict": []}]})
    corpus.model(
        "sparse-outside",
        refused,
        {"sparse": ["csr_array", [2, 2], *[{"array": ["<i8", [3], 0]}] * 3]},
    )
    corpus.model("scalar-large", refused, {"scalar": ["<U1000000000", "x"]})
    corpus.model("array-of-objects-lie", "has 0 values", {"object_array": [[10**12], []]})
    corpus.object(
        "booster-file",
        refused,
        {"booster": ["lightgbm", 0, {"model_file": str(fifo)}]},
        **{"boosters/0.txt": str(fifo).encode()},
    )
    corpus.object(
        "booster-name", refused, {"booster": ["xgboost", 0, {}]}, **{"boosters/0.json": str(fifo).encode()}
    )
    deep = {"boosters/0.json": b"[" * 10**6}
    corpus.object("booster-deep", refused, {"booster": ["xgboost", 0, {}]}, **deep)
    corpus.object("booster-other", "is not known", {"booster": ["os", 0, {}]})
    corpus.object("booster-path", refused, {"booster": ["lightgbm", "../0", {}]})
    corpus.object("booster-missing", "lacks its part", {"booster": ["lightgbm", 99, {}]})
    corpus.object("skops-missing", "has no skops document", {"skops": []})
    for name, data in {
        "nan": b'{"model": NaN, "objects": []}',
        "deep": b"[" * 10**6,
        "deep-nodes": b'{"objects": [], "model": ' + b'{"tuple": [' * 5000 + b"]}" * 5000 + b"}",
        "long-number": b'{"objects": [], "model": ' + b"9" * 10**6 + b"}",
        "no-objects": b'{"model": 1}',
        "objects-null": b'{"model": 1, "objects": null}',
        "not-json": b"\xff\xfe",
    }.items():
        corpus.changed(f"state-{name}", refused, **{"state.json": data})
    corpus.changed("array-cut", "too few bytes of data", **{"arrays.bin": corpus.parts["arrays.bin"][:-1]})
    for name, content in {
        "huge": ["<f8", [10**12], 0],
        "late": ["<f8", [1], 10**12],
        "negative-start": ["<f8", [1], -8],
        "negative-shape": ["<f8", [-1], 0],
        "objects": ["|O", [1], 0],
        "object-fields": [[["a", "|O"]], [1], 0],
        "empty-values": ["|V0", [10**12], 0],
        "shape": ["<f8", "x", 0],
        "fields": [[["a"]], [1], 0],
        "nested-fields": [[["a", [["b", "|O"]]]], [1], 0],
    }.items():
        corpus.model(f"array-{name}", refused, {"array": content})


def add_tree_cases(corpus):
    """Trees whose branches lead out of them, or whose sizes disagree."""
    number, tree = next(
        (i, dict(each["estimator"][2]["tree_"]["tree"]["dict"]))
        for i, each in enumerate(corpus.state["objects"])
        if "tree_" in each.get("estimator", [0, 0, {}])[2]
    )
    descr, shape, start = tree["nodes"]["array"]
    dtype = np.dtype([tuple(field) for field in descr])
    for field, value, sentence in (
        ("left_child", 10**6, "leads out"),
        ("right_child", 0, "leads out"),
        ("feature", 999, "splits on a column"),
    ):
        data = bytearray(corpus.parts["arrays.bin"])
        np.frombuffer(data, dtype, shape[0], start)[field][0] = value
        corpus.changed(f"tree-{field}", sentence, **{"arrays.bin": bytes(data)})
    for field, value in (("n_outputs", 10**9), ("node_count", 10**9)):
        state = json.loads(corpus.parts["state.json"])
        pairs = state["objects"][number]["estimator"][2]["tree_"]["tree"]["dict"]
        next(pair for pair in pairs if pair[0] == field)[1] = value
        corpus.changed(f"tree-{field}", "sizes of a tree", **{"state.json": json.dumps(state).encode()})


def add_predictor_cases(corpus):
    """Trees of histogram-based boosting whose branches or categories lead out of them."""
    text = corpus.parts["state.json"].decode()
    node, _ = json.JSONDecoder().raw_decode(text, text.index('{"predictor"'))
    descr, shape, start = dict(node["predictor"]["dict"])["nodes"]["array"]
    dtype = np.dtype([tuple(field) for field in descr])
    for field, value, sentence in (
        ("left", 10**6, "leads out"),
        ("right", 0, "leads out"),
        ("is_categorical", 1, "splits on categories"),
    ):
        data = bytearray(corpus.parts["arrays.bin"])
        np.frombuffer(data, dtype, shape[0], start)[field][0] = value
        corpus.changed(f"predictor-{field}", sentence, **{"arrays.bin": bytes(data)})


def add_archive_cases(corpus):
    parts = with_sums(corpus.parts)
    corpus.changed("bomb", "would unpack", **{"arrays.bin": bytes(10**8)})
    for index, name in enumerate(
        ("../../etc/passwd", "/etc/passwd", "boosters/../x.txt", "boosters/٣.txt", "x.py")
    ):
        corpus.changed(f"name-{index}", "is not a capo model file", **{name: b"x"})
    file = io.BytesIO(pack(parts))
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(file, "a") as archive:
        archive.writestr("state.json", b"{}")
    corpus.raw("duplicate", "two parts with the same name", file.getvalue())
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    corpus.raw("lzma", "compressed in a way", file.getvalue())
    whole = pack(parts)
    for cut in (4, 100, len(whole) // 2, len(whole) - 30):
        corpus.raw(f"cut-{cut}", "damaged or truncated", whole[:cut])
    for number in (-5, "1", None, float("nan"), 2, 10**30):
        manifest = {**json.loads(parts["manifest.json"]), "format_version": number}
        corpus.changed(f"version-{number}", "", **{"manifest.json": json.dumps(manifest).encode()})


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    auxiliaries = [
        make_pipeline(DropEmptyColumns(), RandomForestClassifier(2, random_state=0)),
        LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1, min_child_samples=5),
        XGBClassifier(n_estimators=2, n_jobs=1),
        HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5),
        GaussianNB(),
    ]
    model = CAPOClassifier("f1", auxiliaries=auxiliaries, C=1.0, cv=2, random_state=0).fit(X, X[:, 0] > 0)
    model.other_ = PLSRegression(1).fit(X, X[:, 0])  # written by skops
    path = tmp_path_factory.mktemp("good") / "good.capo"
    capo.save(model, path)
    return path


@pytest.mark.slow
def test_hostile_files_are_refused_and_nothing_else_happens(good, tmp_path):
    os.mkfifo(tmp_path / FIFO)  # to open it would block for ever
    corpus = Corpus(good, tmp_path)
    add_skops_cases(corpus, tmp_path / FIFO)
    add_state_cases(corpus, tmp_path / FIFO)
    add_tree_cases(corpus)
    add_predictor_cases(corpus)
    add_archive_cases(corpus)
    command = [sys.executable, str(SCRIPT), str(good), *corpus.cases, str(good)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    results = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(results) == len(corpus.cases) + 2, run.stderr[-2000:]
    direct, *refused, opened = results
    assert f"open ('{os.devnull}'" in direct["events"][0]  # the audit notices what it looks for
    assert (opened["kind"], opened["events"]) == ("opened", [])
    wrong = {
        Path(path).stem: result
        for (path, sentence), result in zip(corpus.cases.items(), refused, strict=True)
        if result["kind"] != "ModelFileError"
        or sentence.replace("\\", "") not in result["text"]
        or result["events"]
        or result["seconds"] > 10
        or len(result["text"]) > 2000
    }
    report = "\n".join(f"{name}: {result}" for name, result in wrong.items())
    assert not wrong, report
