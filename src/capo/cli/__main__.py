"""``python -m capo.cli`` runs the command line."""

from . import main

main()
