"""The evaluation of LTYARN: tables and figures of its chapter, and its counterexamples."""
