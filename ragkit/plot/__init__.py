"""Plots: a frame in, matplotlib Axes out. Nothing is computed here that is not in the frame."""
