"""RITA demo: see an adversarial attack on a vision-language model, and see a defence undo it."""

import os

__version__ = "0.1.0"

# Before torch is imported: OpenMP threads that wait must sleep, not spin. The transports are small
# batches of tiny problems, and on cores that are shared with anything else (another visitor, a
# browser) spinning threads make a re-score many times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Settings are checked against the names of all attacks and the own settings of all defences. Loads no torch.
import rita_demo.attacks.registry
import rita_demo.defences.registry
