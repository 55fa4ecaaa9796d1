"""The fairness ledger of a run: who paid, who used, who lent and who borrowed."""
