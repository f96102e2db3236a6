"""Two character language models on one text, and an exact measure of what looking back buys."""
