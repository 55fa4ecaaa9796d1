"""Where a task may run: the rooms of a composed scheduler, and the loop that fills them."""
