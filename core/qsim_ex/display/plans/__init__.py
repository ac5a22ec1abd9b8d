"""Drawings of plans: a chart in text, and a picture of every step."""
