"""From what was measured to what will be: profiles, lengths, and how sure they are."""
