"""A package that a worker runs as if a student had written it: it tries what must not work (see ``canaries.py``)."""
