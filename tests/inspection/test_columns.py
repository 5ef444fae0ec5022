"""Values of columns as text."""

import pytest

from capo.inspection._explanation import short_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((10014.0, "10014"), (1.23456e-5, "1.235e-05"), (-123456.7, "-123457"), (12.3456, "12.35")),
        *((1e15, "1e+15"), (None, "(missing)"), (float("nan"), "(missing)"), (0.0, "0")),
    ],
)
def test_short_text(value, text):
    assert short_text(value) == text
