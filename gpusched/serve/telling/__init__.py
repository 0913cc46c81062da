"""What the leader tells people by events: why pods wait, and what is wrong with policies and nodes."""
