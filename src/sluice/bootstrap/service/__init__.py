"""The service: a driver that takes jobs while others run, and a follower that answers questions."""
