"""Work on many machines: Dask, https://distributed.dask.org, as an executor."""
