"""Addresses of the project. Replace REPOSITORY, here only, once the project has an address.

Then turn on private vulnerability reporting, which SECURITY.md names.
"""

REPOSITORY = "https://repository.example/tfreps"
DOCUMENTATION = f"{REPOSITORY}/docs"
