"""Pictures, class names, samples and datasets: numpy and PIL only, nothing here knows a model."""
