"""How many copies of a task: LATE, SEPB and the kill rule, around any order."""
