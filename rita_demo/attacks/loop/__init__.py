"""The loop that runs an attack: torch. Every attack of the folder above says which parts it uses."""
