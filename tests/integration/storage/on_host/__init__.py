"""Programs that run on the hosts under test; with nothing but Python's own library and the collection."""
