"""Commands that look after a vault: doctor, check, reindex, adopt, purge."""
