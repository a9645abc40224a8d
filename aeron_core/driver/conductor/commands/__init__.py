"""Client commands: dispatch, refusals, clients and the resources that they own."""
