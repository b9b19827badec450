"""Runs modules of the collection on lab hosts without a controller, each in a fresh process."""
