"""This process as a node of the cluster: its sessions, its heartbeat and poll, and how it starts and stops."""
