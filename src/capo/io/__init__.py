"""Files: tables, model files, and atomic writes."""
