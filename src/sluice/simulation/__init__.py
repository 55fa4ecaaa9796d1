"""Time that passes: a discrete-event driver of the core, and the models that it is made of."""
