"""Agents over a network: what connects the engine with a node agent on another machine.

The agent (`engines/agent`) does not change: it reads commands and writes reports through pipes. On
each node a **node server** starts it and relays both ways over TCP. How it works:

* **The driver connects, the node server listens.** One connection per node. It begins with a
  handshake (`handshake`): both sides prove that they know the token of the run, and the token
  itself is never sent. With certificate files the connection is TLS as well (`stream`).
* **Each frame is sealed** (`wire`): it carries a code over its content and its position in the
  stream. A frame that was changed, repeated, left out or put in another place is noticed, and ends
  the connection. Nothing is ever repaired within a connection.
* **A session outlives its connections** (`session`): commands and reports are numbered, and kept
  until the other side has acknowledged them. After a reconnect each side says what it has, and
  the other goes on from there. So a broken connection loses nothing and doubles nothing.
* **A session is one life of one agent.** A new session starts a new agent, and ends the one before.
  Sessions are ordered by (epoch, generation): the epoch is the life of the driver, the generation
  counts its sessions on this node. A node server refuses one that is older than its own.
* **Both sides have a lease.** The agent sends heartbeats; a node that is silent too long is lost
  (`engines/lease`). The driver sends heartbeats, too: a node server that does not hear from it for
  too long ends the agent with all that runs, and then itself.
* **Clocks differ.** Reports hold instants of the node's clock. Each frame says what time it was
  there when it was sent; the least delayed frame gives the difference (`session`).

Who holds the token may run any command as the user of the node server. The seal protects against
changes on the way, not against eavesdroppers: use certificates on a network that others can read.
"""
