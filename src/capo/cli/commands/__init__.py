"""The commands of ``capo``, one module each, and what several of them share."""
