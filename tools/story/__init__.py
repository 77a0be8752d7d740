"""What the Story shows from stored measurements: each file of ``assets/measured`` from one command."""
