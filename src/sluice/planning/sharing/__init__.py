"""Who gets a divisible resource, step by step, and what is fair in the long run.

* `problem`: capacity, members, demands and the options of a rule; exact numbers where affordable;
* `filling`: the water-filling that all rules share;
* `rules`: one class for each rule: static, memoryless (mlrf), long-term (ltrf), karma, decay;
* `whole_units`: the same rules handing out one unit at a time;
* `fluid`: a rule run over all steps, and the static partition to compare it with;
* `fairness`: fairness degrees, benefit and loss, Jain's index, the Lorenz curve;
* `misreports`: what a member could gain by reporting other demands than its own;
* `dominant`: DRF and long-term DRF of tasks whose needs change, to compare what is remembered.

Source: ltyarn spec. The resource is divisible and preemptible here: each step divides it again.
Tasks that keep what they have until they end are the matter of the task policy `ltyarn`.
"""
