"""Programs for hosts, put there by the payload."""
