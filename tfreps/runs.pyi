from ._src.runs.run_folder import RunFolder as RunFolder
