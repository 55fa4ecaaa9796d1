"""Long-term fair sharing of containers in a tree of queues.

Each queue divides the containers that it receives among its children, which are queues or the
applications (jobs) of a leaf. Under `ltrf` the child with the least counted use for its weight
comes first, so that idle capacity is a loan that is paid back.

* `usage`: the counted use of a queue or an application at any instant, in constant time;
* `tree`: queues and applications, and their counters;
* `orders`, `turns`: which child comes first; a lazy heap, as counted use only grows between two
  changes;
* `credits`: the books of Karma's credits;
* `quanta`: the assumed length of a running task, learned from finished ones (Quantum Updater);
* `rounds`: rounds, and the charge of late arrivals (Resource Controller);
* `allocation`: which task starts on a node (Resource Allocator);
* `accounts`: what each queue is owed, for explanations and reports;
* `policy`: LTYARN itself; `peers`: `mlrf`, `ltrf`, `karma` and `decay`.

Source: ltyarn spec; equation numbers in this package are those of its section 4.
"""
