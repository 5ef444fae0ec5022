"""The paper's own results, table by table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PUBLISHED: dict[str, Any] = json.loads((Path(__file__).parent / "paper.json").read_text())
