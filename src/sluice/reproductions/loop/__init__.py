"""Made days of four tenants, on which combinations of the systems are measured."""
