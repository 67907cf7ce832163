"""Pages in a real browser, one for all modules of this folder, closed when it is left; `sights.md` lists what they hold."""
