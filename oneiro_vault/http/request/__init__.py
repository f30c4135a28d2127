"""What happens to one request before a route sees it: limits, rights, audit."""
