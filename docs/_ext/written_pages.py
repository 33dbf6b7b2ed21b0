"""Writes generated pages into an ignored folder."""


def write_pages(folder, pages):
    """Writes pages, by file name, without rewriting unchanged ones; deletes all other files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.iterdir():
        if path.is_file() and path.name not in pages:
            path.unlink()
