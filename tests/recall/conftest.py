"""An open vault and short ways to call it, as the tests of operations have them."""

from tests.operations.conftest import app, call, root

__all__ = ["app", "call", "root"]
