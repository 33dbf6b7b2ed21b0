"""Devices and worker processes that train one model together."""
