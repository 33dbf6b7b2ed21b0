"""The training loop over epochs, on one device or on replicas."""
