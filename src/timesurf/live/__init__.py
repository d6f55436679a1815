"""A network at work on a stream of events."""
