"""The programs models run in: their settings files, edited and given back."""
