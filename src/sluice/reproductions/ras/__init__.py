"""The evaluation of the paper on RAS, in the simulator. See `evaluation`."""
