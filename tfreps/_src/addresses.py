"""Addresses of the project. Replace REPOSITORY, here only, once the project has an address."""

REPOSITORY = "https://repository.example/tfreps"
DOCUMENTATION = f"{REPOSITORY}/docs"
