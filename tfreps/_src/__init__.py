"""The private code of tfreps, whose public names are listed in the modules of `tfreps`."""
