"""Reports on tags and labels, computed without TensorFlow."""
