"""One picture from first to last: run, rerun, attack steps, threat model, export, saved runs."""
