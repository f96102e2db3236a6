"""The pictures of the report, drawn from files alone: no display, no user's matplotlib settings, no torch.

The same results give the same bytes of PNG, for one version of matplotlib.
"""
