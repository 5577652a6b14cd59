"""Holds the predictions of the product against published measurements."""
