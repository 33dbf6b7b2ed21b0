"""Creates, opens, continues and publishes the run folders of training commands."""
