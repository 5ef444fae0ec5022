"""# Serve a model with FastAPI

A web service that answers requests with a label and a probability, first with the Python model, then with
ONNX Runtime, which needs neither capo nor scikit-learn on the server.
"""

# %%
# A model for a table with a category and missing values, saved as a model file and as ONNX.
import tempfile
import time
from pathlib import Path
from typing import Annotated

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from fastapi import FastAPI, HTTPException
from fastapi.testclient import TestClient
from onnxruntime import InferenceSession
from pydantic import BaseModel, Field

import capo
from capo.export.onnx import onnx_inputs, to_onnx

rng = np.random.default_rng(0)
n = 1000
table = pl.DataFrame(
    {
        "amount": rng.lognormal(4, 1, n),
        "country": rng.choice(["DE", "FR", "US"], n),
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 80, n)),
    }
)
risk = 0.02 * table["amount"].to_numpy() + (table["country"] == "US").to_numpy() - 3
y = np.where(rng.random(n) < 1 / (1 + np.exp(-risk)), "fraud", "fine")
model = capo.CAPOClassifier("f1", auxiliaries=["boosting", "linear"], pos_label="fraud", random_state=0).fit(
    table, y
)

folder = Path(tempfile.mkdtemp())
capo.save(model, folder / "fraud.capo")
(folder / "fraud.onnx").write_bytes(to_onnx(model, table).SerializeToString())

# %%
# FastAPI checks every request against these classes, answers bad requests with an error that names the
# field, and documents the service. A missing value is `null`.


class Payment(BaseModel):
    """One row of the table."""

    amount: Annotated[float, Field(ge=0)]
    country: str
    age: float | None = None


class Prediction(BaseModel):
    """The answer for one row."""

    label: str
    probability: float


# %%
# The service with the Python model, which is loaded once. Sending many rows in one request is far cheaper
# than many requests.
MAX_ROWS = 10_000


def as_table(payments: list[Payment]) -> pl.DataFrame:
    """The rows of a request, with the types of the training table."""
    if not 1 <= len(payments) <= MAX_ROWS:
        raise HTTPException(422, f"send 1 to {MAX_ROWS:,} rows")
    return pl.DataFrame([each.model_dump() for each in payments], schema=table.schema)


python_app = FastAPI(title="Fraud, served by capo")
python_model = capo.load(folder / "fraud.capo")


@python_app.post("/predict")
def predict(payments: list[Payment]) -> list[Prediction]:
    """Predict a label and a probability for each payment."""
    decision = python_model.positive_decision(as_table(payments))
    labels = python_model.label_pair[(decision > 0).astype(int)]
    probabilities = python_model.as_probability(decision)
    return [Prediction(label=a, probability=b) for a, b in zip(labels, probabilities, strict=True)]


# %%
# The service with the ONNX file. `onnx_inputs` prepares the rows as in training. Without capo, make one
# array of shape (n, 1) for each column ([inputs](../export.md#inputs)).
onnx_app = FastAPI(title="Fraud, served by ONNX Runtime")
session = InferenceSession((folder / "fraud.onnx").read_bytes())


@onnx_app.post("/predict")
def predict_onnx(payments: list[Payment]) -> list[Prediction]:
    """Predict a label and a probability for each payment."""
    labels, probabilities = session.run(["label", "probability"], onnx_inputs(as_table(payments), session))
    pairs = zip(labels.ravel().tolist(), probabilities.ravel().tolist(), strict=True)
    return [Prediction(label=a, probability=b) for a, b in pairs]


# %%
# Save either service as `service.py` and start it with `uvicorn service:python_app --workers 2`. Here
# FastAPI's test client sends the requests.
python_client, onnx_client = TestClient(python_app), TestClient(onnx_app)
request = [{"amount": 250.0, "country": "US", "age": None}, {"amount": 20.0, "country": "DE", "age": 44}]
print(python_client.post("/predict", json=request).json())
print(onnx_client.post("/predict", json=request).json())
print(python_client.post("/predict", json=[{"amount": -1, "country": "US"}]).json()["detail"][0]["msg"])

# %%
# The time of a request for different numbers of rows:
rows = table.to_dicts()
rows = [{**each, "age": None if each["age"] != each["age"] else each["age"]} for each in rows]
sizes = [1, 10, 100, 1000]


def milliseconds(client: TestClient, size: int) -> float:
    """The fastest of five requests."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        assert client.post("/predict", json=rows[:size]).status_code == 200
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


fig, ax = plt.subplots(figsize=(6, 3.8))
for name, client in (("Python model", python_client), ("ONNX Runtime", onnx_client)):
    ax.plot(sizes, [milliseconds(client, size) for size in sizes], marker="o", label=name)
ax.set(
    xscale="log", yscale="log", xlabel="rows in a request", ylabel="milliseconds", title="Time of a request"
)
ax.legend()
