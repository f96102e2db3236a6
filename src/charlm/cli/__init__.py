"""`charlm` on the command line."""
