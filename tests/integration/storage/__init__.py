"""The acceptance lines of storage pools, on hosts that boot their own kernel and initramfs.

Lines 1 to 7 are those of the acceptance list. Line 8 is the table of what happens to each disk, line 9 what is refused,
line 10 how runs behave: check mode, diff, two at once, not waiting.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.integration.storage.pool_host")
