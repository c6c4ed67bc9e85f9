"""A whole class: regrade an export, say who changes and why, slots, the report, similarity, and a class to practise on.

Knows ``grade`` and what is below it; nothing of the engine knows this room. Its data on disk are in ``records``.
"""
