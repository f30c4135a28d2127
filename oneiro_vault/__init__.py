"""oneiro-vault: a memory for AI models that is a folder of Markdown in a git repository.

Importing this package is cheap: everything below loads on first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` is not imported for this: a thin client has 15 milliseconds
if TYPE_CHECKING:
    from typing import Any

    from oneiro_vault.app import App, open_vault
    from oneiro_vault.core.memory import Memory
    from oneiro_vault.errors import OneiroError

__version__ = "0.1.0"
__all__ = ["App", "Memory", "OneiroError", "__version__", "open_vault"]

_HOMES = {
    "App": "oneiro_vault.app",
    "open_vault": "oneiro_vault.app",
    "Memory": "oneiro_vault.core.memory",
    "OneiroError": "oneiro_vault.errors",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
