"""Trains on several devices and machines, and annotates corpora with Apache Beam."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
