"""Published weights: their table, downloads, and uploads to the Hugging Face Hub."""
