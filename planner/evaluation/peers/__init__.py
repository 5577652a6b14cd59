"""Other tools' answers to the same measured rows, for the side-by-side table of docs/methods.md."""
