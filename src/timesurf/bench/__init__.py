"""Benchmarks: each makes its data, trains, measures, and returns a dict ready for JSON."""
