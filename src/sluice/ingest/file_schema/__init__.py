"""The workload file as pydantic models: what `sluice schema` publishes and every file is held to.

Shapes know one field at a time: its type, its limits, its description. What takes two fields to
tell (max_s below avg_s) is told where shapes become values of the model.
"""
