"""Model files: a fitted model with all that is needed to use it, safe to open and never half-written."""

from .atomic import check_place, written
from .card import Card
from .container import Opened, load, open_model, read_card, save

__all__ = ["Card", "Opened", "check_place", "load", "open_model", "read_card", "save", "written"]
