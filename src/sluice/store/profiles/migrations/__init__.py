"""The store's schema, version by version; each module says what changed since the one before.

A module here is never edited once it was released: stores were made by it.
"""
