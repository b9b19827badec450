"""Proofs of guarded_config on hosts with real daemons."""
