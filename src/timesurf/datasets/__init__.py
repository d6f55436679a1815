"""Data sets as `Recordings`. They know events, nothing of networks."""
