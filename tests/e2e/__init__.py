"""The real command-line clients, offline, against model endpoints on this machine: `make e2e`."""
