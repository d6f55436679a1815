"""The batch rule and inference on the workers of a Dask cluster."""
