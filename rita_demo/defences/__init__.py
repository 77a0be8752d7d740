"""The defences that are compared, one file each. ``contract.py`` says what a defence is."""
