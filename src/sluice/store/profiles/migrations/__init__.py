"""The store's schema, version by version; each module is the change since the one before.

A module is never edited after its release, because stores were made by it.
"""
