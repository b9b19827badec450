"""Route lookups are timed on hosts of the lab, and nothing is left of it."""
