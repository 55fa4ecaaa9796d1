"""How long jobs take, by what the profile store holds."""
