"""``python -m capo`` runs the command line."""

from .cli import main

main()
