"""Running the loops: snapshot, judge, lease, decisions as commits, the record of runs."""
