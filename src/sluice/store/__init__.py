"""The state of Sluice: journals and profiles. Only this package opens their databases."""
