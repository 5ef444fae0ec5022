"""``python -m capo`` runs the command line."""

from .cli import main

if __name__ == "__main__":  # processes of a local cluster import this module
    main()
