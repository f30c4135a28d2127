"""Looking after a vault: doctor, check, adopt, sync, purge, trust."""
