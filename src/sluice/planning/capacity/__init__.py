"""How many jobs of each class to take, and how many machines to rent for them, for the next hour.

Theory of operation. A deadline fixes what one job takes (`sluice.estimate.vm_need`), so that what
is left is a linear program with one constraint: machines. Machines cost `reserved_vm_usd` up to
those that are reserved and `on_demand_vm_usd` beyond, a price that only rises; so classes are
taken by falling penalty per machine until the next machine costs more than it saves. One sort
answers it (`greedy`), a dual solution proves it (`certificate`), whole jobs and machines are
settled among the few classes where it matters (`integer`), and the same order gives the cost for
every number of reserved machines (`curve`). Source: capacity spec, sections 3 and 4.
"""
