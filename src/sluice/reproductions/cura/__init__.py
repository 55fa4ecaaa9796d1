"""The evaluation of Cura: its worked example, and its experiments on generated loads."""
