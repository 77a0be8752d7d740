"""Pictures, class names, samples and datasets: numpy and PIL only, no torch and no model."""
