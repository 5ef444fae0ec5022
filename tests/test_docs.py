"""The documentation keeps up with the code."""

import re
from pathlib import Path

import pytest

from capo import measures

DOCS = Path(__file__).parents[1] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="installed without its documentation")


def test_every_measure_has_its_line_with_its_parameters():
    table = (DOCS / "measures.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", table, flags=re.M))
    assert sorted(rows) == measures.names()
    for name, given in rows.items():
        assert set(re.findall(r"`(\w+)`", given)) == set(measures.get(name).params), name
    for each in measures.describe():
        assert f"| {each.value} | {each.use} |" in table


@pytest.mark.optional_packages
@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_code_in_the_pages_runs(page):
    space: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S):
        exec(compile(block, page.name, "exec"), space)
