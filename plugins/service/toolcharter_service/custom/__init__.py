"""Custom tools: shell lines that operators define while the service runs, for all agents of a tenant or for one."""
