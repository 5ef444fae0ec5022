"""# Adapt a service's answers with embeddings

A service answers yes, no or unsure, an encoder turns each image or text into a vector, and a few rows
are labeled. `ScoreColumn` makes an auxiliary of the answers, and the vectors are a column like any other.
The controls are answers that are noise, and a logistic regression on the same columns.
"""

# %%
# The encoder and the service come from elsewhere: principal components of other digits, and a forest
# trained on their upper halves. The service says whether an image shows an 8.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, train_test_split

from capo import CAPOClassifier, ScoreColumn

ANSWERS = ["no", "unsure", "yes"]


def make_tables(seed):
    """Return tables and labels to train on and to test on, and the tables with answers that are noise."""
    digits, digit = load_digits(return_X_y=True)
    elsewhere, rest, y_elsewhere, y_rest = train_test_split(
        digits, digit == 8, train_size=800, stratify=digit, random_state=seed
    )
    encoder = PCA(16, random_state=0).fit(elsewhere)
    forest = RandomForestClassifier(class_weight="balanced_subsample", max_depth=6, random_state=0)
    probability = forest.fit(elsewhere[:, :32], y_elsewhere).predict_proba(rest[:, :32])[:, 1]
    answer = np.array(ANSWERS)[np.digitize(probability, [0.3, 0.5])]
    table = pd.DataFrame({"embedding": list(encoder.transform(rest)), "answer": answer})
    noise = table.assign(answer=np.random.default_rng(seed).permutation(answer))
    return train_test_split(table, noise, y_rest, train_size=100, stratify=y_rest, random_state=seed)


# %%
# 100 images are labeled. All entries of the vectors are scaled by one number, so that directions that are
# noise stay small.
def compare(seed):
    """Return the F1 of each method on test rows."""
    X, X_test, noise, noise_test, y, y_test = make_tables(seed)
    auxiliaries = [ScoreColumn("answer"), "linear"]
    model = CAPOClassifier("f1", auxiliaries=auxiliaries, random_state=0).fit(X, y)
    blind = CAPOClassifier("f1", auxiliaries=auxiliaries, random_state=0).fit(noise, y)
    columns, columns_test = (
        np.column_stack((np.stack(table["embedding"]) / 20, table["answer"].map(ANSWERS.index)))
        for table in (X, X_test)
    )
    penalties = {"C": np.logspace(-2, 2, 5)}
    logistic = GridSearchCV(LogisticRegression(max_iter=2000), penalties, scoring="neg_log_loss")
    rival = TunedThresholdClassifierCV(logistic, scoring="f1").fit(columns, y)
    return {
        "service alone": f1_score(y_test, X_test["answer"] == "yes"),
        "logistic regression on both columns": f1_score(y_test, rival.predict(columns_test)),
        "capo with noise instead of answers": blind.score(noise_test, y_test),
        "capo": model.score(X_test, y_test),
    }, model


results = [compare(seed) for seed in range(4)]
print(results[0][1].summary())

# %%
# The setting was chosen among a few so that the answers matter: the last line says what they are worth
# beside noise, in each of four random splits.
names = list(results[0][0])
values = np.array([[scores[name] for name in names] for scores, _ in results])
for name, each in zip(names, values.T, strict=True):
    print(f"{name:<36} {each.mean():.3f}   " + "  ".join(f"{value:.3f}" for value in each))
worth = values[:, names.index("capo")] - values[:, names.index("capo with noise instead of answers")]
print(f"{'answers instead of noise':<35} {worth.mean():+.3f}  " + " ".join(f"{each:+.3f}" for each in worth))

fig, ax = plt.subplots(figsize=(7.5, 2.6), layout="constrained")
ax.barh(names, values.mean(axis=0), color=["gray", "gray", "gray", "C0"])
for row, each in enumerate(values.T):
    ax.plot(each, np.full(len(each), row), "o", color="black", markersize=4)
ax.set(xlim=(0.5, 0.9), xlabel="F1 on test rows: mean and four splits")
ax.invert_yaxis()
