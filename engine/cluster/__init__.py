"""Work on many machines: Dask, https://distributed.dask.org, behind the face of an executor."""
