"""What a network leaves for people to read: the folder of a training run, tables of decisions, the machine used.

===============  =============================================================================
file             what it holds
===============  =============================================================================
`run.py`         the folder of a training run
`decisions.py`   decisions on recordings as columns of a table
`many_files.py`  such tables for whole folders and buckets, on the workers of Dask, as Parquet
`machine.py`     processor, versions and GPU that figures were measured with
===============  =============================================================================
"""
