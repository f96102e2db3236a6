"""The report: what is said, decided once from the results, and its two renderings, Markdown and HTML."""
