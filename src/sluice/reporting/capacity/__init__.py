"""Admission and rented VMs: figures, tables and chart."""
