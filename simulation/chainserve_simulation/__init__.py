"""Stages with configurable times and faults behind the repository's own contracts. For tests and benchmarks only."""
