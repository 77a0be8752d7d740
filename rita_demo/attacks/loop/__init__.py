"""The loop that runs an attack. Every attack of the folder above says which parts it uses."""
