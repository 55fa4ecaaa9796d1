"""Which jobs are taken: admission under deadlines, by containers or by pools of VMs."""
