"""The paper's study: its systems on its twenty tasks, every table and figure."""
