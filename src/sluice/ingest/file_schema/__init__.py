"""The workload file as pydantic models, published by `sluice schema`.

A model checks one field at a time: its type, its limits. Rules about two fields (max_s below
avg_s) are checked where these values become values of the model.
"""
