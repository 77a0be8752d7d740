"""Where a measurement is computed: in this process or by Ray workers."""
