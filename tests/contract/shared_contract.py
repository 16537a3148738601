"""The project's source documents, which lie beside the repository and not in it."""

from pathlib import Path

import pytest

CONTRACT = Path(__file__).parents[2] / ".." / "shared" / "contract"

needs_documents = pytest.mark.skipif(not CONTRACT.is_dir(), reason="the source documents are not beside the repository")
