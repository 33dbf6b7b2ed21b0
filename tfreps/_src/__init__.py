"""The library. Names without an underscore are private here, too: see the modules above."""
