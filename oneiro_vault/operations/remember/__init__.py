"""Storing memories: drafts, deduplication, images, captures."""
