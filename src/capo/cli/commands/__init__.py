"""The implementation of each command; a module is imported when its command runs."""
