"""Programs for the hosts of these proofs, put there by the payload."""
