"""For authors: new items and entries from templates, find-the-bug sheets."""
