"""The order of submission of jobs: figures, tables and chart."""
