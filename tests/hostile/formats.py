"""The table of all formats of hostile input, by name."""

from tests.hostile import (
    archive_files,
    grpc_messages,
    json_files,
    model_files,
    program_folders,
    rest_requests,
    text_files,
    weight_files,
)

MODULES = archive_files, grpc_messages, json_files, model_files, program_folders
MODULES += rest_requests, text_files, weight_files
FORMATS = {kind.name: kind for module in MODULES for kind in module.FORMATS}
