"""The training of the embedded model, `loop.train(data, out, minutes, resume)`, and of its robust tower, `robust.train_robust`."""
